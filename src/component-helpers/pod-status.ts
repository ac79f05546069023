// What a pod's status says: ready, running, over.
import type { ContainerStatus, Pod, PodCondition } from '../api/generated/types/core-v1.ts';

export const podCondition = (pod: Pod, type: string): PodCondition | undefined =>
  pod.status?.conditions?.find((c) => c.type === type);
export const isPodReady = (pod: Pod): boolean => podCondition(pod, 'Ready')?.status === 'True';
export const arePodContainersReady = (pod: Pod): boolean =>
  podCondition(pod, 'ContainersReady')?.status === 'True';
export const isPodScheduled = (pod: Pod): boolean => (pod.spec.nodeName ?? '') !== '';
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

export const containerStatus = (pod: Pod, name: string): ContainerStatus | undefined =>
  pod.status?.containerStatuses?.find((s) => s.name === name);
/** Of all containers, init and ephemeral ones too. */
export const allContainerStatuses = (pod: Pod): readonly ContainerStatus[] => [
  ...(pod.status?.initContainerStatuses ?? []),
  ...(pod.status?.containerStatuses ?? []),
  ...(pod.status?.ephemeralContainerStatuses ?? []),
];
/** Sum of the restarts of the pod's containers. */
export const podRestarts = (pod: Pod): number =>
  (pod.status?.containerStatuses ?? []).reduce((sum, s) => sum + (s.restartCount ?? 0), 0);

/** A copy of `conditions` with this one set; the transition time moves only when the status changes. */
export function withCondition<
  C extends { type: string; status: string; lastTransitionTime?: string | undefined },
>(conditions: readonly C[] | undefined, condition: C): C[] {
  const old = conditions?.find((c) => c.type === condition.type);
  const kept =
    old && old.status === condition.status && old.lastTransitionTime !== undefined
      ? { ...condition, lastTransitionTime: old.lastTransitionTime }
      : condition;
  if (!old) return [...(conditions ?? []), kept];
  return (conditions ?? []).map((c) => (c === old ? kept : c));
}
