// When ready pods become available, by minReadySeconds.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { podCondition } from '../../component-helpers/pod-status.ts';

/** How long until a ready pod has been ready for `minReadySeconds`; undefined when it is not ready. */
function msUntilAvailable(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return undefined;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(ready.lastTransitionTime ?? '');
  return Number.isNaN(since) ? undefined : Math.max(0, since + minReadySeconds * 1000 - now);
}

/** The earliest moment at which one more pod becomes available: when to look again. */
export function msUntilNextAvailable(
  pods: readonly Pod[],
  minReadySeconds: number,
  now: number,
): number | undefined {
  let next: number | undefined;
  for (const pod of pods) {
    const ms = msUntilAvailable(pod, minReadySeconds, now);
    if (ms !== undefined && ms > 0 && (next === undefined || ms < next)) next = ms;
  }
  return next;
}
