// InterPodAffinity: pods that want to be near, or away from, other pods within a topology domain.
import type { Pod, PodAffinityTerm, WeightedPodAffinityTerm } from '../../api/generated/types/core-v1.ts';
import { matchesSelector, type Selector, selectorFrom } from '../../apimachinery/label-selector.ts';
import { stateKey } from '../framework/cycle-state.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { maxNodeScore, type Plugin, podUpdates } from '../framework/plugin.ts';
import { skip, unresolvable, unschedulable } from '../framework/status.ts';

interface Term {
  readonly key: string;
  readonly selector: Selector;
  readonly namespaces: ReadonlySet<string> | 'all';
}

interface Counts {
  /** Required terms of the pod, with matching pods by domain. */
  readonly affinity: readonly { readonly term: Term; readonly domains: Map<string, number> }[];
  readonly antiAffinity: readonly { readonly term: Term; readonly domains: Map<string, number> }[];
  /** `key=value` domains that pods already placed refuse to share with this one. */
  readonly refusedDomains: ReadonlySet<string>;
  /** The pod's own labels satisfy its affinity: the first of a group may go anywhere. */
  readonly selfMatches: boolean;
}
const filterKey = stateKey<Counts>('InterPodAffinity/filter');
const scoreKey = stateKey<ReadonlyMap<string, number>>('InterPodAffinity/score');

function termOf(owner: Pod, term: PodAffinityTerm): Term {
  const own = owner.metadata.namespace ?? '';
  const listed = term.namespaces ?? [];
  // An empty namespaceSelector means every namespace; a selector on labels of namespaces is treated as all of them.
  const namespaces = term.namespaceSelector
    ? ('all' as const)
    : new Set(listed.length === 0 ? [own] : listed);
  return { key: term.topologyKey, selector: selectorFrom(term.labelSelector), namespaces };
}

const matches = (term: Term, pod: Pod): boolean =>
  (term.namespaces === 'all' || term.namespaces.has(pod.metadata.namespace ?? '')) &&
  matchesSelector(term.selector, pod.metadata.labels);

const required = (terms: readonly PodAffinityTerm[] | undefined, pod: Pod): Term[] =>
  (terms ?? []).map((term) => termOf(pod, term));

function count(pod: Pod, nodes: readonly NodeInfo[]): Counts {
  const spec = pod.spec.affinity;
  const start = (terms: readonly Term[]): { term: Term; domains: Map<string, number> }[] =>
    terms.map((term) => ({ term, domains: new Map() }));
  const affinity = start(required(spec?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, pod));
  const antiAffinity = start(
    required(spec?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, pod),
  );
  const refusedDomains = new Set<string>();
  const own = [...affinity, ...antiAffinity];
  for (const node of nodes) {
    const labels = node.node.metadata.labels ?? {};
    if (own.length === 0 && node.podsWithRequiredAntiAffinity === 0) continue;
    for (const info of node.pods.values()) {
      for (const { term, domains } of own) {
        const domain = labels[term.key];
        if (domain !== undefined && matches(term, info.pod))
          domains.set(domain, (domains.get(domain) ?? 0) + 1);
      }
      if (!info.hasRequiredAntiAffinity) continue;
      for (const term of required(
        info.pod.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution,
        info.pod,
      )) {
        const domain = labels[term.key];
        if (domain !== undefined && matches(term, pod)) refusedDomains.add(`${term.key}=${domain}`);
      }
    }
  }
  return {
    affinity,
    antiAffinity,
    refusedDomains,
    selfMatches: affinity.every(({ term }) => matches(term, pod)),
  };
}

function preferences(pod: Pod, nodes: readonly NodeInfo[]): Map<string, number> {
  const scores = new Map<string, number>();
  const credit = (
    owner: Pod,
    terms: readonly WeightedPodAffinityTerm[] | undefined,
    sign: number,
    other: Pod,
    labels: Record<string, string>,
  ): void => {
    for (const { weight, podAffinityTerm } of terms ?? []) {
      const term = termOf(owner, podAffinityTerm);
      const domain = labels[term.key];
      if (domain === undefined || !matches(term, other)) continue;
      const key = `${term.key}=${domain}`;
      scores.set(key, (scores.get(key) ?? 0) + sign * weight);
    }
  };
  for (const node of nodes) {
    const labels = node.node.metadata.labels ?? {};
    for (const { pod: other, hasAffinity } of node.pods.values()) {
      const own = pod.spec.affinity;
      credit(pod, own?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, 1, other, labels);
      credit(pod, own?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution, -1, other, labels);
      if (!hasAffinity) continue;
      const theirs = other.spec.affinity;
      credit(other, theirs?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, 1, pod, labels);
      credit(
        other,
        theirs?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution,
        -1,
        pod,
        labels,
      );
    }
  }
  return scores;
}

export const interPodAffinity: Plugin = {
  name: 'InterPodAffinity',
  requeueOn: ['NodeAdd', 'NodeUpdateNodeLabel', 'AssignedPodAdd', 'AssignedPodDelete', ...podUpdates],
  preFilter: (state, pod, snapshot) => {
    const counts = count(pod, snapshot.nodes);
    if (counts.affinity.length === 0 && counts.antiAffinity.length === 0 && counts.refusedDomains.size === 0)
      return { status: skip };
    state.write(filterKey, counts);
    return undefined;
  },
  filter: (state, _pod, node) => {
    const counts = state.read(filterKey);
    if (!counts) return undefined;
    const labels = node.node.metadata.labels ?? {};
    const near = ({ term, domains }: { term: Term; domains: Map<string, number> }): boolean =>
      (domains.get(labels[term.key] ?? '') ?? 0) > 0;
    if (counts.affinity.some(({ term }) => labels[term.key] === undefined))
      return unresolvable("node(s) didn't match pod affinity rules");
    if (!counts.affinity.every(near)) {
      const nobodyYet = counts.affinity.every(({ domains }) => domains.size === 0);
      if (!nobodyYet || !counts.selfMatches) return unresolvable("node(s) didn't match pod affinity rules");
    }
    if (counts.antiAffinity.some(near)) return unschedulable("node(s) didn't match pod anti-affinity rules");
    for (const domain of counts.refusedDomains) {
      const at = domain.indexOf('=');
      if (labels[domain.slice(0, at)] === domain.slice(at + 1))
        return unschedulable("node(s) didn't satisfy existing pods anti-affinity rules");
    }
    return undefined;
  },
  preScore: (state, pod, nodes) => {
    const own = pod.spec.affinity;
    const prefers =
      own?.podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ??
      own?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
    if (!prefers && nodes.every((node) => node.podsWithAffinity === 0)) return skip;
    const scores = preferences(pod, nodes);
    if (scores.size === 0) return skip;
    state.write(scoreKey, scores);
    return undefined;
  },
  score: (state, _pod, node) => {
    let sum = 0;
    for (const [domain, score] of state.read(scoreKey) ?? []) {
      const at = domain.indexOf('=');
      if (node.node.metadata.labels?.[domain.slice(0, at)] === domain.slice(at + 1)) sum += score;
    }
    return sum;
  },
  normalizeScores: (_state, _pod, scores) => {
    const most = Math.max(...scores.map((s) => s.score));
    const least = Math.min(...scores.map((s) => s.score));
    for (const s of scores)
      s.score = most === least ? 0 : Math.trunc((maxNodeScore * (s.score - least)) / (most - least));
  },
};
