// Services without an address of their own: their endpoints are what is asked for.
import type { Service } from '../api/generated/types/core-v1.ts';

export const isHeadless = (service: Service): boolean => service.spec?.clusterIP === 'None';
