// PodTopologySpread: keeps matching pods evenly spread over the domains of a topology key.
import type { Node, Pod, TopologySpreadConstraint } from '../../api/generated/types/core-v1.ts';
import { matchesSelector, type Selector, selectorFrom } from '../../apimachinery/label-selector.ts';
import { matchesRequiredNodeAffinity } from '../../component-helpers/node-affinity.ts';
import { findUntoleratedTaint } from '../../component-helpers/taints.ts';
import { stateKey } from '../framework/cycle-state.ts';
import { DomainCounts } from '../framework/domain-counts.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { maxNodeScore, type Plugin } from '../framework/plugin.ts';
import { skip, unresolvable, unschedulable } from '../framework/status.ts';

interface Constraint {
  readonly key: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly selector: Selector;
  readonly selfMatches: boolean;
  readonly honourAffinity: boolean;
  readonly honourTaints: boolean;
  /** Pods that match, by domain. */
  readonly counts: DomainCounts;
}
const hardKey = stateKey<readonly Constraint[]>('PodTopologySpread/filter', (constraints) =>
  constraints.map((constraint) => ({ ...constraint, counts: constraint.counts.copy() })),
);
const softKey = stateKey<readonly Constraint[]>('PodTopologySpread/score');

function constraintOf(pod: Pod, constraint: TopologySpreadConstraint): Constraint {
  const base = selectorFrom(constraint.labelSelector);
  const extra = (constraint.matchLabelKeys ?? []).flatMap((key) => {
    const value = pod.metadata.labels?.[key];
    return value === undefined ? [] : [{ key, operator: 'In', values: [value] }];
  });
  const selector =
    extra.length === 0
      ? base
      : selectorFrom({
          ...constraint.labelSelector,
          matchExpressions: [...(constraint.labelSelector?.matchExpressions ?? []), ...extra],
        });
  return {
    key: constraint.topologyKey,
    maxSkew: constraint.maxSkew,
    minDomains: constraint.minDomains ?? 1,
    selector,
    selfMatches: matchesSelector(selector, pod.metadata.labels),
    honourAffinity: constraint.nodeAffinityPolicy !== 'Ignore',
    honourTaints: constraint.nodeTaintsPolicy === 'Honor',
    counts: new DomainCounts(),
  };
}

function counts(pod: Pod, constraint: Constraint, node: NodeInfo): boolean {
  if (constraint.honourAffinity && !matchesRequiredNodeAffinity(pod, node.node)) return false;
  if (!constraint.honourTaints) return true;
  const hard = (node.node.spec.taints ?? []).filter((taint) => taint.effect !== 'PreferNoSchedule');
  return findUntoleratedTaint(hard, pod.spec.tolerations ?? []) === undefined;
}

/** A node without all the keys is in no domain. */
const hasAllKeys = (constraints: readonly Constraint[], node: NodeInfo): boolean =>
  constraints.every(({ key }) => node.node.metadata.labels?.[key] !== undefined);

function fill(pod: Pod, constraints: readonly Constraint[], nodes: readonly NodeInfo[]): void {
  for (const node of nodes) {
    if (!hasAllKeys(constraints, node)) continue;
    for (const constraint of constraints) {
      if (!counts(pod, constraint, node)) continue;
      let matching = 0;
      for (const { pod: other } of node.pods.values()) {
        if (other.metadata.namespace !== pod.metadata.namespace || other.metadata.deletionTimestamp) continue;
        if (matchesSelector(constraint.selector, other.metadata.labels)) matching++;
      }
      constraint.counts.add(node.node.metadata.labels?.[constraint.key] ?? '', matching);
    }
  }
}

/** `by` pods like this one more on the node. */
function recount(
  constraints: readonly Constraint[],
  pod: Pod,
  { metadata: other }: Pod,
  node: NodeInfo,
  by: 1 | -1,
): void {
  if (other.namespace !== pod.metadata.namespace || !hasAllKeys(constraints, node)) return;
  for (const constraint of constraints)
    if (matchesSelector(constraint.selector, other.labels) && counts(pod, constraint, node))
      constraint.counts.add(node.node.metadata.labels?.[constraint.key] ?? '', by);
}

/** With fewer domains than there have to be, one is thought to be empty. */
const leastOf = ({ counts, minDomains }: Constraint): number =>
  counts.size < minDomains ? 0 : counts.least();

const constraintsOf = (pod: Pod, action: string): Constraint[] =>
  (pod.spec.topologySpreadConstraints ?? [])
    .filter((c) => c.whenUnsatisfiable === action)
    .map((c) => constraintOf(pod, c));

export const podTopologySpread: Plugin = {
  name: 'PodTopologySpread',
  requeueOn: [
    {
      on: ['NodeAdd', 'NodeDelete', 'NodeUpdateNodeLabel', 'NodeUpdateNodeTaint'],
      helps: (pod, { node, oldNode }) => {
        const keys = constraintsOf(pod, 'DoNotSchedule').map(({ key }) => key);
        const isIn = (one: Node | undefined): boolean =>
          one !== undefined && keys.every((key) => one.metadata.labels?.[key] !== undefined);
        return (node === undefined && oldNode === undefined) || isIn(node) || isIn(oldNode);
      },
    },
    {
      on: ['AssignedPodAdd', 'AssignedPodDelete', 'AssignedPodUpdatePodLabel'],
      helps: (pod, { oldPod, pod: other }) => {
        const one = other ?? oldPod;
        if (one !== undefined && one.metadata.namespace !== pod.metadata.namespace) return false;
        const counted = ({ selector }: Constraint, of: Pod | undefined): boolean =>
          of !== undefined && matchesSelector(selector, of.metadata.labels);
        return (
          one === undefined ||
          constraintsOf(pod, 'DoNotSchedule').some((constraint) =>
            oldPod !== undefined && other !== undefined
              ? counted(constraint, oldPod) !== counted(constraint, other)
              : counted(constraint, one),
          )
        );
      },
    },
    'UnschedulablePodUpdatePodLabel',
  ],
  preFilter: (state, pod, snapshot) => {
    const constraints = constraintsOf(pod, 'DoNotSchedule');
    if (constraints.length === 0) return { status: skip };
    fill(pod, constraints, snapshot.nodes);
    state.write(hardKey, constraints);
    return undefined;
  },
  addPod: (state, pod, other, node) => recount(state.read(hardKey) ?? [], pod, other.pod, node, 1),
  removePod: (state, pod, other, node) => recount(state.read(hardKey) ?? [], pod, other.pod, node, -1),
  filter: (state, _pod, node) => {
    for (const constraint of state.read(hardKey) ?? []) {
      const domain = node.node.metadata.labels?.[constraint.key];
      if (domain === undefined)
        return unresolvable("node(s) didn't match pod topology spread constraints (missing required label)");
      const here = (constraint.counts.get(domain) ?? 0) + (constraint.selfMatches ? 1 : 0);
      if (here - leastOf(constraint) > constraint.maxSkew)
        return unschedulable("node(s) didn't match pod topology spread constraints");
    }
    return undefined;
  },
  preScore: (state, pod, nodes) => {
    const constraints = constraintsOf(pod, 'ScheduleAnyway');
    if (constraints.length === 0) return skip;
    fill(pod, constraints, nodes);
    state.write(softKey, constraints);
    return undefined;
  },
  score: (state, _pod, node) =>
    (state.read(softKey) ?? []).reduce((sum, constraint) => {
      const domain = node.node.metadata.labels?.[constraint.key];
      // Keys with many domains weigh more, as upstream: log(domains + 2).
      return domain === undefined
        ? sum
        : sum +
            (constraint.counts.get(domain) ?? 0) * Math.log(constraint.counts.size + 2) +
            constraint.maxSkew -
            1;
    }, 0),
  normalizeScores: (_state, _pod, scores) => {
    const most = Math.max(...scores.map((s) => s.score));
    const least = Math.min(...scores.map((s) => s.score));
    for (const s of scores)
      s.score = most === 0 ? maxNodeScore : Math.trunc((maxNodeScore * (most + least - s.score)) / most);
  },
};
