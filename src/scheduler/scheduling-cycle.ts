// Which node for this pod, of a snapshot: filters, then scores, then picks. What is counted of it is counted here, too.
import type { Pod } from '../api/generated/types/core-v1.ts';
import type { Random } from '../base/random.ts';
import { type Extender, filterByExtenders, scoresOfExtenders } from './extender.ts';
import type { CycleState } from './framework/cycle-state.ts';
import type { Framework } from './framework/framework.ts';
import type { NodeInfo } from './framework/node-info.ts';
import type { Snapshot } from './framework/snapshot.ts';
import { NodeStatuses, type Status, unresolvable } from './framework/status.ts';

/** Clusters up to this size are searched whole (upstream: minFeasibleNodesToFind). */
const minFeasibleNodes = 100;
const minFeasiblePercentage = 5;

/** How many fitting nodes are enough (upstream: numFeasibleNodesToFind with the adaptive percentage). */
export function feasibleNodesToFind(total: number, share = 0): number {
  if (total < minFeasibleNodes) return total;
  const percentage = share === 0 ? Math.max(minFeasiblePercentage, 50 - Math.trunc(total / 125)) : share;
  return Math.max(minFeasibleNodes, Math.trunc((total * percentage) / 100));
}

export type CycleResult =
  | { readonly fits: true; readonly node: string; readonly state: CycleState }
  | {
      readonly fits: false;
      readonly statuses: NodeStatuses;
      readonly state: CycleState;
      /** What holds for all nodes. */
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
  /** Room was made for the pod there: it is looked at first. */
  readonly nominated?: string;
  /** How many of the nodes that fit are enough, in percent; 0: by how many nodes there are. */
  readonly percentage?: number;
}

interface Search {
  readonly state: CycleState;
  readonly statuses: NodeStatuses;
  readonly total: number;
  /** What holds for all nodes. */
  readonly refused?: Status;
  readonly feasible: readonly NodeInfo[];
  readonly nextStart: number;
}

/** Nodes that fit, as far as plugins know. */
function search(pod: Pod, snapshot: Snapshot, options: CycleOptions): Search {
  const { framework, nominated = '', percentage = 0, startAt } = options;
  const state = framework.beginCycle();
  const total = snapshot.nodes.length;
  const nowhere = (refused: Status, nextStart: number): Search => ({
    state,
    statuses: new NodeStatuses(refused),
    total,
    refused,
    feasible: [],
    nextStart,
  });
  if (total === 0) return nowhere({ code: 'UnschedulableAndUnresolvable', reasons: [], plugin: noNodes }, 0);
  const { namedBy = [], nodeNames, refused } = framework.runPreFilter(state, pod, snapshot);
  if (refused) return nowhere(refused, startAt);
  const [named] = namedBy;
  const statuses = new NodeStatuses(
    named === undefined
      ? undefined
      : {
          ...unresolvable(`node(s) didn't satisfy plugin(s) [${[...namedBy].sort().join(' ')}]`),
          plugin: named,
        },
  );
  const first = snapshot.get(nominated);
  if (
    first &&
    framework.runFilters(state, pod, [first], { startAt: 0, enough: 1, statuses }).feasible.length > 0
  )
    return { state, statuses, total, feasible: [first], nextStart: startAt };
  const nodes = nodeNames ? [...nodeNames].flatMap((name) => snapshot.get(name) ?? []) : snapshot.nodes;
  const enough = feasibleNodesToFind(nodes.length, percentage);
  const { feasible, looked } = framework.runFilters(state, pod, nodes, { startAt, enough, statuses });
  return { state, statuses, total, feasible, nextStart: (startAt + looked) % total };
}

type Decided = CycleResult & { readonly nextStart: number };

function failed({ nextStart, refused, state, statuses, total }: Search): Decided {
  return { fits: false, statuses, state, total, nextStart, ...(refused ? { refused } : {}) };
}

export function schedulePod(pod: Pod, snapshot: Snapshot, options: CycleOptions): Decided {
  const { framework, random } = options;
  const found = search(pod, snapshot, options);
  const { feasible, nextStart, state } = found;
  const [only] = feasible;
  if (only === undefined) return failed(found);
  const node = feasible.length === 1 ? only.name : pick(framework.runScore(state, pod, feasible), random);
  return { fits: true, node, state, nextStart };
}

/** The same, where others are asked, too. */
export async function schedulePodWith(
  extenders: readonly Extender[],
  pod: Pod,
  snapshot: Snapshot,
  options: CycleOptions,
): Promise<Decided> {
  const { framework, nominated, random } = options;
  const found = search(pod, snapshot, options);
  const { nextStart, state, statuses } = found;
  const feasible = await filterByExtenders(extenders, pod, found.feasible, statuses);
  // The node that it was promised does not do after all.
  if (feasible.length === 0 && found.feasible[0]?.name === nominated && nominated !== undefined)
    return schedulePodWith(extenders, pod, snapshot, { ...options, nominated: '' });
  const [only] = feasible;
  if (only === undefined) return failed(found);
  if (feasible.length === 1) return { fits: true, node: only.name, state, nextStart };
  const more = await scoresOfExtenders(extenders, pod, feasible);
  const scores = framework.runScore(state, pod, feasible);
  for (const one of scores) one.score += more.get(one.node) ?? 0;
  return { fits: true, node: pick(scores, random), state, nextStart };
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
