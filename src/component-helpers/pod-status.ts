// What a pod's status says: ready, running, over.
import type { Pod, PodCondition } from '../api/generated/types/core-v1.ts';
import { findCondition } from '../apimachinery/conditions.ts';

export const podCondition = (pod: Pod, type: string): PodCondition | undefined =>
  findCondition(pod.status?.conditions, type);
export const isPodReady = (pod: Pod): boolean => podCondition(pod, 'Ready')?.status === 'True';
/** Succeeded or Failed: it will never run again. */
export const isPodTerminal = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
export const isPodTerminating = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;
/** As controllers count: not over and not being deleted. */
export const isPodActive = (pod: Pod): boolean => !isPodTerminal(pod) && !isPodTerminating(pod);

/** Ready for at least `minReadySeconds`: upstream's IsPodAvailable. */
export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return false;
  if (minReadySeconds === 0) return true;
  const since = Date.parse(ready.lastTransitionTime ?? '');
  return !Number.isNaN(since) && since + minReadySeconds * 1000 <= nowMs;
}
