// The sentence of a FailedScheduling event: how many nodes, and why not, most common reasons counted.
import { noNodesFit } from './framework/no-nodes-fit.ts';
import type { NodeStatuses, Status } from './framework/status.ts';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` as upstream's FitError. */
export function fitErrorMessage(
  total: number,
  statuses: NodeStatuses,
  refused?: Status,
  postFilter?: string,
): string {
  const after = postFilter ? ` ${postFilter}` : '';
  if (total === 0) return 'no nodes available to schedule pods';
  if (refused === undefined || refused.reasons.length === 0) return `${noNodesFit(total, statuses)}${after}`;
  return `0/${total} nodes are available: ${refused.reasons.join(', ')}.${after}`;
}
