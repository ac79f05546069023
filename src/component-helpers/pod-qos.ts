// The quality-of-service class of a pod: what its status says, else what its resources say.
import type { QosClass } from '../api/core/v1/pod-qos.ts';
import { podQosClass } from '../api/core/v1/pod-qos.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { JsonObject } from '../apimachinery/declaration.ts';

export type { QosClass } from '../api/core/v1/pod-qos.ts';

export const qosOf = (pod: Pod): QosClass =>
  (pod.status?.qosClass as QosClass | undefined) ?? podQosClass(pod as unknown as JsonObject);
