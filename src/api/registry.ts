// Every group and version with what its kinds add.
import type { GroupBehaviours } from '../apimachinery/kind-behaviour.ts';
import { coreV1 } from './core/v1/group.ts';

export const behaviours: Readonly<Record<string, GroupBehaviours>> = {
  '/v1': coreV1,
};
