// Which of the pods that ask for other resources is heard first. Pure (upstream: sortPendingResizes).
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { qosClass } from './qos.ts';

export interface ResizeRequest {
  readonly pod: Pod;
  /** Whether the node has to set aside more. */
  readonly grows: boolean;
  readonly sinceMs: number;
}

const isGuaranteed = (pod: Pod): boolean => qosClass(pod) === 'Guaranteed';

/** Who gives something back, then by priority, then who is guaranteed, then who has waited longest. */
export const byTurn = (a: ResizeRequest, b: ResizeRequest): number =>
  Number(a.grows) - Number(b.grows) ||
  Number(b.pod.spec.priority ?? 0) - Number(a.pod.spec.priority ?? 0) ||
  Number(isGuaranteed(b.pod)) - Number(isGuaranteed(a.pod)) ||
  a.sinceMs - b.sinceMs;
