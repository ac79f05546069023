// Which pods of lower priority would have to go for one that fits nowhere, and on which node that hurts least.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/generated/types/policy-v1.ts';
import { matchesObject } from '../../apimachinery/label-selector.ts';
import type { CycleState } from './cycle-state.ts';
import type { NodeInfo, PodInfo } from './node-info.ts';
import type { FailedSearch, WhatIf } from './plugin.ts';
import { NodeStatuses, type Status, unresolvable } from './status.ts';

/** A node that the pod fits on without some others. */
export interface Candidate {
  readonly node: string;
  /** The most important first; never none. */
  readonly victims: readonly Pod[];
  /** How many of them a disruption budget wanted to keep. */
  readonly violations: number;
}

export interface PreemptionLimits {
  readonly minCandidateNodesPercentage: number;
  readonly minCandidateNodesAbsolute: number;
}

export const usualLimits: PreemptionLimits = {
  minCandidateNodesPercentage: 10,
  minCandidateNodesAbsolute: 100,
};

export const priorityOf = (pod: Pod): number => pod.spec.priority ?? 0;

/** One that has not begun begins now. */
const startedAt = (pod: Pod, nowMs: number): number => {
  const { startTime } = pod.status ?? {};
  return startTime === undefined ? nowMs : Date.parse(startTime);
};

/** How many nodes with victims are enough to choose among. */
export const enoughCandidates = (nodes: number, limits: PreemptionLimits): number =>
  Math.min(
    nodes,
    Math.max(
      Math.trunc((nodes * limits.minCandidateNodesPercentage) / 100),
      limits.minCandidateNodesAbsolute,
    ),
  );

/** As upstream's preemption has it, an empty selector is for nobody. */
function isBudgetOf({ metadata, spec, status }: PodDisruptionBudget, pod: Pod): boolean {
  const { labels = {}, name, namespace } = pod.metadata;
  const selector = spec?.selector;
  return (
    metadata.namespace === namespace &&
    Object.keys(labels).length > 0 &&
    Object.keys(selector?.matchLabels ?? {}).length + (selector?.matchExpressions ?? []).length > 0 &&
    matchesObject(selector, labels) &&
    // Who was evicted already is counted already.
    !Object.hasOwn(status?.disruptedPods ?? {}, name)
  );
}

/** Those that a budget wants to keep, and the others; the order stays. */
export function splitByBudgets(
  pods: readonly PodInfo[],
  budgets: readonly PodDisruptionBudget[],
): { readonly violating: PodInfo[]; readonly others: PodInfo[] } {
  const allowed = budgets.map(({ status }) => status?.disruptionsAllowed ?? 0);
  const [violating, others]: [PodInfo[], PodInfo[]] = [[], []];
  for (const info of pods) {
    let violates = false;
    for (const [at, budget] of budgets.entries()) {
      if (!isBudgetOf(budget, info.pod)) continue;
      allowed[at]! -= 1;
      if (allowed[at]! < 0) violates = true;
    }
    (violates ? violating : others).push(info);
  }
  return { violating, others };
}

interface Asking {
  readonly pod: Pod;
  readonly whatIf: WhatIf;
  readonly budgets: readonly PodDisruptionBudget[];
  readonly nowMs: number;
}

/** Fewest pods that have to leave the node, or why that would not help. */
function selectVictims(state: CycleState, there: NodeInfo, asking: Asking): Candidate | Status {
  const { budgets, nowMs, pod, whatIf } = asking;
  const own = priorityOf(pod);
  // Before anything is copied: most nodes of a cluster without priorities have nobody.
  if (there.lowestPriority >= own) return unresolvable('No preemption victims found for incoming pod');
  const [copy, node] = [state.clone(), there.clone()];
  const add = (other: PodInfo): void => {
    node.addPod(other);
    whatIf.add(copy, pod, other, node);
  };
  const remove = (other: PodInfo): void => {
    node.removePod(other.pod.metadata.uid ?? '');
    whatIf.remove(copy, pod, other, node);
  };
  const potential = [...there.pods.values()].filter((other) => priorityOf(other.pod) < own);
  for (const other of potential) remove(other);
  const never = whatIf.fits(copy, pod, node);
  if (never) return never;
  const byImportance = (a: Pod, b: Pod): number =>
    priorityOf(b) - priorityOf(a) || startedAt(a, nowMs) - startedAt(b, nowMs);
  potential.sort((a, b) => byImportance(a.pod, b.pod));
  const { others, violating } = splitByBudgets(potential, budgets);
  const victims: Pod[] = [];
  // The most important first may stay, if the pod fits all the same.
  const isReprieved = (other: PodInfo): boolean => {
    add(other);
    if (whatIf.fits(copy, pod, node) === undefined) return true;
    remove(other);
    victims.push(other.pod);
    return false;
  };
  const violations = violating.filter((other) => !isReprieved(other)).length;
  for (const other of others) isReprieved(other);
  if (violating.length > 0 && others.length > 0) victims.sort(byImportance);
  if (victims.length === 0)
    return {
      code: 'Error',
      reasons: [`expected at least one victim pod on node ${JSON.stringify(node.name)}`],
    };
  return { node: node.name, victims, violations };
}

export interface Candidates {
  readonly found: readonly Candidate[];
  /** Why not on other nodes. */
  readonly statuses: NodeStatuses;
}

const isCandidate = (answer: Candidate | Status): answer is Candidate => 'victims' in answer;

/** Looks at the nodes that were refused for what pods on them do, from `offset`, until there are enough candidates. */
export function findCandidates(
  state: CycleState,
  pod: Pod,
  { snapshot, statuses, whatIf }: FailedSearch,
  how: {
    readonly budgets: () => readonly PodDisruptionBudget[];
    readonly limits: PreemptionLimits;
    readonly offset: (nodes: number) => number;
    readonly nowMs: number;
  },
): Candidates {
  const why = new NodeStatuses(unresolvable('Preemption is not helpful for scheduling'));
  const nodes = snapshot.nodes.filter(({ name }) => statuses.of(name).code === 'Unschedulable');
  if (nodes.length === 0) return { found: [], statuses: why };
  const enough = enoughCandidates(nodes.length, how.limits);
  const offset = how.offset(nodes.length);
  const [harmless, violating]: [Candidate[], Candidate[]] = [[], []];
  const asking: Asking = { pod, whatIf, budgets: how.budgets(), nowMs: how.nowMs };
  for (let i = 0; i < nodes.length; i++) {
    const node = nodes[(offset + i) % nodes.length]!;
    const answer = selectVictims(state, node, asking);
    if (!isCandidate(answer)) {
      why.asked.set(node.name, answer);
      continue;
    }
    const list = answer.violations === 0 ? harmless : violating;
    if (list.length < enough) list.push(answer);
    if (harmless.length > 0 && harmless.length + violating.length >= enough) break;
  }
  return { found: [...harmless, ...violating], statuses: why };
}

/** Of the victims with the highest priority, who runs longest. */
function earliestStart(victims: readonly Pod[], nowMs: number): number {
  const highest = Math.max(...victims.map(priorityOf));
  return Math.min(
    ...victims.filter((pod) => priorityOf(pod) === highest).map((pod) => startedAt(pod, nowMs)),
  );
}

/** Upstream's order of preference: what comes first decides, what comes later among equals. */
export function pickCandidate(candidates: readonly Candidate[], nowMs: number): Candidate | undefined {
  const scores: readonly ((candidate: Candidate) => number)[] = [
    ({ violations }) => -violations,
    ({ victims }) => -priorityOf(victims[0]!),
    // Shifted above 0: a few pods with a negative priority are not better than one.
    ({ victims }) => -victims.reduce((sum, pod) => sum + priorityOf(pod) + 2 ** 31, 0),
    ({ victims }) => -victims.length,
    ({ victims }) => earliestStart(victims, nowMs),
  ];
  let best = candidates;
  for (const score of scores) {
    if (best.length <= 1) break;
    const scored = best.map((candidate) => ({ candidate, score: score(candidate) }));
    const most = scored.reduce((most, { score }) => Math.max(most, score), Number.NEGATIVE_INFINITY);
    best = scored.filter((one) => one.score === most).map(({ candidate }) => candidate);
  }
  return best[0];
}
