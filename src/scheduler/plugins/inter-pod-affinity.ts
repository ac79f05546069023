// InterPodAffinity: pods that want to be near, or away from, other pods within a topology domain.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Labels } from '../../apimachinery/labels.ts';
import type { PluginArgs } from '../config/plugin-args.ts';
import { type AffinityTerms, affinityTerms, type NamespaceView } from '../framework/affinity-terms.ts';
import { stateKey } from '../framework/cycle-state.ts';
import { DomainCounts } from '../framework/domain-counts.ts';
import type { NodeInfo, PodInfo } from '../framework/node-info.ts';
import { type Change, maxNodeScore, namespaceEvents, type Plugin } from '../framework/plugin.ts';
import { skip, unresolvable, unschedulable } from '../framework/status.ts';

/** The labels of a namespace, the same object while they do not change. */
export type NamespaceLabels = (name: string) => Labels | undefined;

/** One that is not known has no labels, as upstream. */
const unlabelled: Labels = {};

/** The namespace of each pod; most that follow each other are of the same. */
function viewer(labelsOf: NamespaceLabels): (pod: Pod) => NamespaceView {
  let last: NamespaceView | undefined;
  return ({ metadata: { namespace: name = '' } }) => {
    if (last?.name !== name) last = { name, labels: labelsOf(name) ?? unlabelled };
    return last;
  };
}

/** By topology key. */
type Domains = Map<string, DomainCounts>;

interface Counts {
  /** Topology keys of the pod's required affinity. */
  readonly keys: ReadonlySet<string>;
  /** Domains of pods that match all of its required terms, as upstream: one alone says nothing. */
  readonly near: Domains;
  /** Domains of pods that it refuses to be near. */
  readonly avoided: Domains;
  readonly avoids: boolean;
  /** Domains that pods already placed refuse to share with this one. */
  readonly refused: Domains;
  /** The pod's own labels satisfy its affinity: the first of a group may go anywhere. */
  readonly selfMatches: boolean;
}
const filterKey = stateKey<Counts>('InterPodAffinity/filter', (counts) => ({
  ...counts,
  near: copyOf(counts.near),
  avoided: copyOf(counts.avoided),
  refused: copyOf(counts.refused),
}));
const scoreKey = stateKey<ReadonlyMap<string, ReadonlyMap<string, number>>>('InterPodAffinity/score');
const allNodesKey = stateKey<readonly NodeInfo[]>('InterPodAffinity/nodes');

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

function copyOf(domains: Domains): Domains {
  const copy: Domains = new Map();
  for (const [key, counts] of domains) copy.set(key, counts.copy());
  return copy;
}

function add(domains: Domains, key: string, domain: string, by: number): void {
  let counts = domains.get(key);
  if (counts === undefined) {
    counts = new DomainCounts();
    domains.set(key, counts);
  }
  counts.add(domain, by);
}

function isNowhere(domains: Domains): boolean {
  for (const counts of domains.values()) if (!counts.isEmpty) return false;
  return true;
}

/** Where a node is. A topology key may be called as what all objects have. */
const domainOf = ({ node }: NodeInfo, key: string): string | undefined => {
  const labels = node.metadata.labels ?? {};
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
};

function isIn(domains: Domains, node: NodeInfo): boolean {
  for (const [key, known] of domains) {
    const domain = domainOf(node, key);
    if (domain !== undefined && known.has(domain)) return true;
  }
  return false;
}

/** A node must have all keys, also for the first of a group. */
function isNear({ keys, near, selfMatches }: Counts, node: NodeInfo): boolean {
  let isWithAll = true;
  for (const key of keys) {
    const domain = domainOf(node, key);
    if (domain === undefined) return false;
    isWithAll &&= near.get(key)?.has(domain) === true;
  }
  return isWithAll || (selfMatches && isNowhere(near));
}

/** Above so many keys the labels of a node are fewer. */
const fewKeys = 8;

/** Those of the topology keys that the node has, with where it is. */
function domainsAt(
  node: NodeInfo,
  keys: ReadonlySet<string>,
): readonly (readonly [key: string, domain: string])[] {
  const out: [string, string][] = [];
  const labels = node.node.metadata.labels ?? {};
  for (const key of keys.size <= fewKeys ? keys : Object.keys(labels)) {
    const domain = keys.has(key) ? domainOf(node, key) : undefined;
    if (domain !== undefined) out.push([key, domain]);
  }
  return out;
}

const addMatching = (
  domains: Domains,
  terms: AffinityTerms,
  about: { pod: Pod; in: NamespaceView },
  node: NodeInfo,
  by: number,
): void => {
  const sums = terms.matching(about.pod, about.in);
  if (sums === undefined) return;
  for (const [key, domain] of domainsAt(node, terms.keys)) {
    const { count } = sums(key);
    if (count > 0) add(domains, key, domain, by * count);
  }
};

/** What one pod with its terms means for others, asked of many of them. */
class Counting {
  readonly near: AffinityTerms;
  readonly away: AffinityTerms;
  readonly hasOwn: boolean;
  readonly counts: Counts;
  readonly #own: { readonly pod: Pod; readonly in: NamespaceView };
  readonly #namespaceOf: (pod: Pod) => NamespaceView;

  constructor(pod: Pod, namespaceOf: (pod: Pod) => NamespaceView, counts?: Counts) {
    const spec = pod.spec.affinity;
    this.near = affinityTerms(pod, spec?.podAffinity?.[required]);
    this.away = affinityTerms(pod, spec?.podAntiAffinity?.[required]);
    this.hasOwn = this.near.size > 0 || this.away.size > 0;
    this.#own = { pod, in: namespaceOf(pod) };
    this.#namespaceOf = namespaceOf;
    this.counts = counts ?? {
      keys: this.near.keys,
      near: new Map(),
      avoided: new Map(),
      avoids: this.away.size > 0,
      refused: new Map(),
      selfMatches: this.near.matchAll(pod, this.#own.in),
    };
  }

  /** `by` pods like this one more on the node. */
  count({ hasRequiredAntiAffinity, pod: other }: PodInfo, node: NodeInfo, by: 1 | -1): void {
    const { avoided, near, refused } = this.counts;
    if (this.hasOwn) {
      const about = { pod: other, in: this.#namespaceOf(other) };
      if (this.near.size > 0 && this.near.matchAll(other, about.in))
        for (const [key, domain] of domainsAt(node, this.near.keys)) add(near, key, domain, by);
      addMatching(avoided, this.away, about, node, by);
    }
    if (!hasRequiredAntiAffinity) return;
    const theirs = affinityTerms(other, other.spec.affinity?.podAntiAffinity?.[required]);
    addMatching(refused, theirs, this.#own, node, by);
  }
}

function count(pod: Pod, nodes: readonly NodeInfo[], namespaceOf: (pod: Pod) => NamespaceView): Counts {
  const counting = new Counting(pod, namespaceOf);
  for (const node of nodes) {
    if (!counting.hasOwn && node.podsWithRequiredAntiAffinity === 0) continue;
    for (const other of node.pods.values()) counting.count(other, node, 1);
  }
  return counting.counts;
}

type Scores = Map<string, Map<string, number>>;

function credit(
  scores: Scores,
  node: NodeInfo,
  keys: ReadonlySet<string>,
  weightOf: (key: string) => number,
): void {
  for (const [key, domain] of domainsAt(node, keys)) {
    const weight = weightOf(key);
    if (weight === 0) continue;
    const ofKey = scores.get(key) ?? new Map<string, number>();
    scores.set(key, ofKey);
    ofKey.set(domain, (ofKey.get(domain) ?? 0) + weight);
  }
}

type Args = PluginArgs['InterPodAffinity'];

function preferences(
  pod: Pod,
  nodes: readonly NodeInfo[],
  namespaceOf: (pod: Pod) => NamespaceView,
  { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods }: Args,
): Scores {
  const scores: Scores = new Map();
  const creditAll = (terms: AffinityTerms, sign: number, other: Pod, node: NodeInfo): void => {
    const sums = terms.size === 0 ? undefined : terms.matching(other, namespaceOf(other));
    if (sums !== undefined) credit(scores, node, terms.keys, (key) => sign * sums(key).weight);
  };
  const wanted = (owner: Pod): readonly [AffinityTerms, AffinityTerms, AffinityTerms] => {
    const { podAffinity, podAntiAffinity } = owner.spec.affinity ?? {};
    return [
      affinityTerms(owner, podAffinity?.[preferred]),
      affinityTerms(owner, podAntiAffinity?.[preferred]),
      affinityTerms(owner, podAffinity?.[required]),
    ];
  };
  const [near, away] = wanted(pod);
  for (const node of nodes) {
    for (const { pod: other, hasAffinity } of node.pods.values()) {
      creditAll(near, 1, other, node);
      creditAll(away, -1, other, node);
      if (!hasAffinity) continue;
      const [theirs, notTheirs, needed] = wanted(other);
      if (!ignorePreferredTermsOfExistingPods) {
        creditAll(theirs, 1, pod, node);
        creditAll(notTheirs, -1, pod, node);
      }
      // Those that could not be without such pods attract them, too.
      if (hardPodAffinityWeight > 0) creditAll(needed, hardPodAffinityWeight, pod, node);
    }
  }
  return scores;
}

/** A node that is in none of the domains that the terms are about is as far from all pods as before. */
function movesDomain(pod: Pod, { node, oldNode }: Change): boolean {
  if (node === undefined) return true;
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const near = affinityTerms(pod, podAffinity?.[required]);
  const away = affinityTerms(pod, podAntiAffinity?.[required]);
  const at = (key: string): string | undefined => node.metadata.labels?.[key];
  const isNew = (key: string): boolean => oldNode === undefined || oldNode.metadata.labels?.[key] !== at(key);
  for (const key of near.keys) if (at(key) !== undefined && isNew(key)) return true;
  for (const key of away.keys) if (isNew(key)) return true;
  // Refused by terms of others: those may be about any key.
  return away.size === 0 && near.size === 0;
}

/** Whether another pod that came, went or was named anew is one that the terms of either are about. */
function concerns(
  pod: Pod,
  { oldPod, pod: other }: Change,
  namespaceOf: (pod: Pod) => NamespaceView,
): boolean {
  if (oldPod === undefined && other === undefined) return true;
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const near = affinityTerms(pod, podAffinity?.[required]);
  const away = affinityTerms(pod, podAntiAffinity?.[required]);
  const about = (terms: AffinityTerms, of: Pod | undefined): boolean =>
    of !== undefined && terms.matching(of, namespaceOf(of)) !== undefined;
  if (other !== undefined && near.size > 0 && near.matchAll(other, namespaceOf(other))) return true;
  if (oldPod === undefined) return false;
  if (about(away, oldPod)) return true;
  // It refused to be near this one.
  const theirs = affinityTerms(oldPod, oldPod.spec.affinity?.podAntiAffinity?.[required]);
  if (theirs.matching(pod, namespaceOf(pod)) !== undefined) return true;
  // The last of those that it wanted to be near went: it may be the first of its group.
  return other === undefined && near.size > 0 && near.matchAll(oldPod, namespaceOf(oldPod));
}

export const interPodAffinity = (labelsOf: NamespaceLabels, args: Args): Plugin => ({
  name: 'InterPodAffinity',
  requeueOn: [
    { on: ['NodeAdd', 'NodeUpdateNodeLabel'], helps: movesDomain },
    {
      on: ['AssignedPodAdd', 'AssignedPodDelete', 'AssignedPodUpdatePodLabel'],
      helps: (pod, change) => concerns(pod, change, viewer(labelsOf)),
    },
    ...namespaceEvents,
    'UnschedulablePodUpdatePodLabel',
  ],
  preFilter: (state, pod, snapshot) => {
    state.write(allNodesKey, snapshot.nodes);
    const counts = count(pod, snapshot.nodes, viewer(labelsOf));
    if (counts.keys.size === 0 && !counts.avoids && counts.refused.size === 0) return { status: skip };
    state.write(filterKey, counts);
    return undefined;
  },
  addPod: (state, pod, other, node) => {
    const counts = state.read(filterKey);
    if (counts) new Counting(pod, viewer(labelsOf), counts).count(other, node, 1);
  },
  removePod: (state, pod, other, node) => {
    const counts = state.read(filterKey);
    if (counts) new Counting(pod, viewer(labelsOf), counts).count(other, node, -1);
  },
  filter: (state, _pod, node) => {
    const counts = state.read(filterKey);
    if (!counts) return undefined;
    if (!isNear(counts, node)) return unresolvable("node(s) didn't match pod affinity rules");
    if (isIn(counts.avoided, node)) return unschedulable("node(s) didn't match pod anti-affinity rules");
    if (isIn(counts.refused, node))
      return unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
    return undefined;
  },
  preScore: (state, pod, feasible) => {
    // Pods on nodes where this one can't go make their neighbours as near.
    const nodes = state.read(allNodesKey) ?? feasible;
    const own = pod.spec.affinity;
    const prefers = own?.podAffinity?.[preferred] ?? own?.podAntiAffinity?.[preferred];
    if (!prefers && nodes.every((node) => node.podsWithAffinity === 0)) return skip;
    const scores = preferences(pod, nodes, viewer(labelsOf), args);
    if (scores.size === 0) return skip;
    state.write(scoreKey, scores);
    return undefined;
  },
  score: (state, _pod, node) => {
    let sum = 0;
    for (const [key, scores] of state.read(scoreKey) ?? [])
      sum += scores.get(domainOf(node, key) as string) ?? 0;
    return sum;
  },
  normalizeScores: (_state, _pod, scores) => {
    const most = Math.max(...scores.map((s) => s.score));
    const least = Math.min(...scores.map((s) => s.score));
    for (const s of scores)
      s.score = most === least ? 0 : Math.trunc((maxNodeScore * (s.score - least)) / (most - least));
  },
});
