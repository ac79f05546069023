// When a pod must leave a node because of its NoExecute taints.
import type { Taint, Toleration } from '../../api/generated/types/core-v1.ts';
import { toleratesTaint } from '../../component-helpers/taints.ts';

/**
 * Milliseconds since the epoch, or undefined when it may stay. `seenAt` is when the taints were first seen, for
 * those that do not say when they were added.
 */
export function evictionTime(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  seenAt: number,
): number | undefined {
  const noExecute = (taints ?? []).filter((taint) => taint.effect === 'NoExecute');
  if (noExecute.length === 0) return undefined;
  let earliest: number | undefined;
  for (const taint of noExecute) {
    const tolerating = (tolerations ?? []).filter((toleration) => toleratesTaint(toleration, taint));
    if (tolerating.length === 0) return seenAt;
    for (const { tolerationSeconds } of tolerating) {
      if (tolerationSeconds === undefined) continue;
      const since = taint.timeAdded === undefined ? seenAt : Date.parse(taint.timeAdded);
      const at = since + Math.max(0, tolerationSeconds) * 1000;
      if (earliest === undefined || at < earliest) earliest = at;
    }
  }
  return earliest;
}
