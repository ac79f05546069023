// Which node for this pod: pure over a snapshot. Filters, then scores, then picks.
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { Random } from '../base/random.ts';
import { CycleState } from './framework/cycle-state.ts';
import type { Framework } from './framework/framework.ts';
import type { NodeInfo } from './framework/node-info.ts';
import type { Snapshot } from './framework/snapshot.ts';
import type { Status } from './framework/status.ts';

/** Clusters up to this size are searched whole (upstream: minFeasibleNodesToFind). */
const minFeasibleNodes = 100;
const minFeasiblePercentage = 5;

/** How many fitting nodes are enough (upstream: numFeasibleNodesToFind with the adaptive percentage). */
export function feasibleNodesToFind(total: number): number {
  if (total < minFeasibleNodes) return total;
  const percentage = Math.max(minFeasiblePercentage, 50 - Math.trunc(total / 125));
  return Math.max(minFeasibleNodes, Math.trunc((total * percentage) / 100));
}

export type CycleResult =
  | { readonly fits: true; readonly node: string; readonly state: CycleState; readonly evaluated: number }
  | {
      readonly fits: false;
      readonly statuses: ReadonlyMap<string, Status>;
      readonly state: CycleState;
      readonly refused?: Status;
      readonly total: number;
    };

/** Named in the place of a plugin when there are no nodes: none of the plugins was asked. */
export const noNodes = 'NoNodes';

export interface CycleOptions {
  readonly framework: Framework;
  readonly random: Random;
  /** Where the last search stopped, so that all nodes get their turn. */
  readonly startAt: number;
}

export function schedulePod(
  pod: Pod,
  snapshot: Snapshot,
  options: CycleOptions,
): CycleResult & { readonly nextStart: number } {
  const { framework, random } = options;
  const state = new CycleState();
  const total = snapshot.nodes.length;
  if (total === 0) {
    const refused: Status = { code: 'UnschedulableAndUnresolvable', reasons: [], plugin: noNodes };
    return { fits: false, statuses: new Map(), state, refused, total, nextStart: 0 };
  }
  const pre = framework.runPreFilter(state, pod, snapshot);
  if (pre.refused)
    return {
      fits: false,
      statuses: new Map(),
      state,
      refused: pre.refused,
      total,
      nextStart: options.startAt,
    };

  const statuses = new Map<string, Status>();
  const feasible: NodeInfo[] = [];
  const enough = feasibleNodesToFind(total);
  let looked = 0;
  for (; looked < total && feasible.length < enough; looked++) {
    const node = snapshot.nodes[(options.startAt + looked) % total]!;
    if (pre.nodeNames && !pre.nodeNames.has(node.name)) {
      statuses.set(node.name, {
        code: 'UnschedulableAndUnresolvable',
        reasons: ["node(s) didn't satisfy plugin(s) [NodeAffinity]"],
        plugin: 'NodeAffinity',
      });
      continue;
    }
    const status = framework.runFilter(state, pod, node);
    if (status) statuses.set(node.name, status);
    else feasible.push(node);
  }
  const nextStart = (options.startAt + looked) % total;
  if (feasible.length === 0) return { fits: false, statuses, state, total, nextStart };
  if (feasible.length === 1)
    return { fits: true, node: feasible[0]!.name, state, evaluated: looked, nextStart };
  return {
    fits: true,
    node: pick(framework.runScore(state, pod, feasible), random),
    state,
    evaluated: looked,
    nextStart,
  };
}

/** The best score; among equals one by chance (reservoir sampling, as upstream's selectHost). */
function pick(scores: readonly { readonly node: string; readonly score: number }[], random: Random): string {
  let best = scores[0]!;
  let equals = 1;
  for (const one of scores.slice(1)) {
    if (one.score > best.score) {
      best = one;
      equals = 1;
    } else if (one.score === best.score && random.uint(++equals) === 0) best = one;
  }
  return best.node;
}
