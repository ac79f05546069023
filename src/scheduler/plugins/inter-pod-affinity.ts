// InterPodAffinity: pods that want to be near, or away from, other pods within a topology domain.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type AffinityTerms, affinityTerms, type Term } from '../framework/affinity-terms.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { maxNodeScore, type Plugin, podUpdates } from '../framework/plugin.ts';
import { skip, unresolvable, unschedulable } from '../framework/status.ts';

/** By topology key. */
type Domains = Map<string, Set<string>>;

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
const filterKey = stateKey<Counts>('InterPodAffinity/filter');
const scoreKey = stateKey<ReadonlyMap<string, ReadonlyMap<string, number>>>('InterPodAffinity/score');
const allNodesKey = stateKey<readonly NodeInfo[]>('InterPodAffinity/nodes');

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

const add = (domains: Domains, key: string, domain: string): void =>
  void domains.set(key, (domains.get(key) ?? new Set()).add(domain));

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
  return isWithAll || (near.size === 0 && selfMatches);
}

function count(pod: Pod, nodes: readonly NodeInfo[]): Counts {
  const spec = pod.spec.affinity;
  const near = affinityTerms(pod, spec?.podAffinity?.[required]);
  const away = affinityTerms(pod, spec?.podAntiAffinity?.[required]);
  const [attracting, avoided, refused]: [Domains, Domains, Domains] = [new Map(), new Map(), new Map()];
  const hasOwn = near.all.length > 0 || away.all.length > 0;
  for (const node of nodes) {
    if (!hasOwn && node.podsWithRequiredAntiAffinity === 0) continue;
    const put = (domains: Domains, key: string): void => {
      const domain = domainOf(node, key);
      if (domain !== undefined) add(domains, key, domain);
    };
    const avoid = ({ key }: Term): void => put(avoided, key);
    const refuse = ({ key }: Term): void => put(refused, key);
    for (const info of node.pods.values()) {
      if (hasOwn) {
        if (near.all.length > 0 && near.matchAll(info.pod)) for (const key of near.keys) put(attracting, key);
        away.eachMatching(info.pod, avoid);
      }
      if (info.hasRequiredAntiAffinity)
        affinityTerms(info.pod, info.pod.spec.affinity?.podAntiAffinity?.[required]).eachMatching(
          pod,
          refuse,
        );
    }
  }
  const selfMatches = near.matchAll(pod);
  return { keys: near.keys, near: attracting, avoided, avoids: away.all.length > 0, refused, selfMatches };
}

type Scores = Map<string, Map<string, number>>;

function preferences(pod: Pod, nodes: readonly NodeInfo[]): Scores {
  const scores: Scores = new Map();
  const credit = (terms: AffinityTerms, sign: number, other: Pod, node: NodeInfo): void =>
    terms.eachMatching(other, ({ key, weight }) => {
      const domain = domainOf(node, key);
      if (domain === undefined) return;
      const ofKey = scores.get(key) ?? new Map<string, number>();
      scores.set(key, ofKey);
      ofKey.set(domain, (ofKey.get(domain) ?? 0) + sign * weight);
    });
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
      credit(near, 1, other, node);
      credit(away, -1, other, node);
      if (!hasAffinity) continue;
      const [theirs, notTheirs, needed] = wanted(other);
      credit(theirs, 1, pod, node);
      credit(notTheirs, -1, pod, node);
      // Those that could not be without such pods attract them, too.
      credit(needed, 1, pod, node);
    }
  }
  return scores;
}

export const interPodAffinity: Plugin = {
  name: 'InterPodAffinity',
  requeueOn: ['NodeAdd', 'NodeUpdateNodeLabel', 'AssignedPodAdd', 'AssignedPodDelete', ...podUpdates],
  preFilter: (state, pod, snapshot) => {
    state.write(allNodesKey, snapshot.nodes);
    const counts = count(pod, snapshot.nodes);
    if (counts.keys.size === 0 && !counts.avoids && counts.refused.size === 0) return { status: skip };
    state.write(filterKey, counts);
    return undefined;
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
    const scores = preferences(pod, nodes);
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
};
