// When a pod must leave a node because of its NoExecute taints.
import type { Taint, Toleration } from '../../api/generated/types/core-v1.ts';
import { toleratesTaint } from '../../component-helpers/taints.ts';

/**
 * Milliseconds that a pod may still stay after its node's taints were first seen, or undefined for ever. As upstream it
 * counts from when they were seen, not from `timeAdded`: the one who wrote that may have had another time of day.
 */
export function evictionDelay(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
): number | undefined {
  let shortest: number | undefined;
  for (const taint of taints ?? []) {
    if (taint.effect !== 'NoExecute') continue;
    // The first one that fits says how long: GetMatchingTolerations.
    const tolerating = (tolerations ?? []).find((toleration) => toleratesTaint(toleration, taint));
    if (tolerating === undefined) return 0;
    const { tolerationSeconds } = tolerating;
    if (tolerationSeconds === undefined) continue;
    shortest = Math.min(shortest ?? Number.POSITIVE_INFINITY, Math.max(0, Number(tolerationSeconds)) * 1000);
  }
  return shortest;
}
