// How many nodes were refused for which reasons, as upstream's FitError says it of a pod and of preemption for it.
import type { NodeStatuses } from './status.ts';

export function noNodesFit(total: number, statuses: NodeStatuses): string {
  const reasons = [...statuses.reasons(total)].map(([reason, count]) => `${count} ${reason}`).sort();
  const list = reasons.length === 0 ? '' : ` ${reasons.join(', ')}.`;
  return `0/${total} nodes are available:${list}`;
}
