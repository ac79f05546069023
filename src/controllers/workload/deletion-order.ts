// Which pods go first when there are too many.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { isPodReady, podCondition } from '../../component-helpers/pod-status.ts';

const msOf = (time: string | undefined): number => (time === undefined ? 0 : Date.parse(time));
const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
const restarts = (pod: Pod): number =>
  Math.max(0, ...(pod.status?.containerStatuses ?? []).map((status) => status.restartCount));
const deletionCost = (pod: Pod): number => {
  const text = pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'];
  return text !== undefined && /^[+-]?(0|[1-9][0-9]*)$/.test(text) ? Number(text) : 0;
};
/** Powers of two of the age, so that of pods of about one age none is always the victim. */
const ageStep = (since: number, now: number): number =>
  since === 0 ? 0 : Math.floor(Math.log2(Math.max(1, now - since)));

/**
 * Orders pods from the one to delete first, as upstream's ActivePodsWithRanks: unassigned, pending, not ready, cheap,
 * on a node with many others, ready for a short time, restarted often, young.
 */
export function deletionOrder(pods: readonly Pod[], rankOf: (pod: Pod) => number, now: number): Pod[] {
  const compare = (a: Pod, b: Pod): number => {
    const assigned = (p: Pod): number => ((p.spec.nodeName ?? '') === '' ? 0 : 1);
    const phase = (p: Pod): number => phaseRank[p.status?.phase ?? ''] ?? 0;
    const ready = (p: Pod): number => (isPodReady(p) ? 1 : 0);
    const readySince = (p: Pod): number => msOf(podCondition(p, 'Ready')?.lastTransitionTime);
    const createdAt = (p: Pod): number => msOf(p.metadata.creationTimestamp);
    return (
      assigned(a) - assigned(b) ||
      phase(a) - phase(b) ||
      ready(a) - ready(b) ||
      deletionCost(a) - deletionCost(b) ||
      rankOf(b) - rankOf(a) ||
      (ready(a) === 1 && ready(b) === 1 ? ageStep(readySince(a), now) - ageStep(readySince(b), now) : 0) ||
      restarts(b) - restarts(a) ||
      ageStep(createdAt(a), now) - ageStep(createdAt(b), now) ||
      (a.metadata.uid ?? '').localeCompare(b.metadata.uid ?? '')
    );
  };
  return [...pods].sort(compare);
}
