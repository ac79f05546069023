// The sentence of a FailedScheduling event: how many nodes, and why not, most common reasons counted.
import type { Status } from './framework/status.ts';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` as upstream's FitError. */
export function fitErrorMessage(
  total: number,
  statuses: ReadonlyMap<string, Status>,
  refused?: Status,
  postFilter?: string,
): string {
  if (total === 0) return `no nodes available to schedule pods${postFilter ? `. ${postFilter}` : ''}`;
  const reasons = new Map<string, number>();
  for (const status of statuses.values())
    for (const reason of status.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  const list = refused
    ? refused.reasons.join(', ')
    : [...reasons]
        .map(([reason, count]) => `${count} ${reason}`)
        .sort()
        .join(', ');
  const detail = list === '' ? '.' : `: ${list}.`;
  return `0/${total} nodes are available${detail}${postFilter ? ` ${postFilter}` : ''}`;
}
