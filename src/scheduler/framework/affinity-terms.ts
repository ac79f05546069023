// Terms of pod affinity as cycles ask about them: read once for each list, and found by the labels of the pod they may match.
import type { Pod, PodAffinityTerm, WeightedPodAffinityTerm } from '../../api/generated/types/core-v1.ts';
import { matchesSelector, type Selector, selectorFrom } from '../../apimachinery/label-selector.ts';
import { once } from '../../base/once.ts';

export interface Term {
  /** Its place in the list. */
  readonly at: number;
  readonly key: string;
  /** Read when a pod comes that it may match: most are asked about none. */
  readonly selector: () => Selector;
  readonly namespaces: ReadonlySet<string> | 'all';
  readonly weight: number;
}

type Sent = PodAffinityTerm | WeightedPodAffinityTerm;

/** What a required term of a placed pod is worth to those that it names: upstream's hardPodAffinityWeight. */
const hardWeight = 1;

const plainTerm = (sent: Sent): PodAffinityTerm => ('podAffinityTerm' in sent ? sent.podAffinityTerm : sent);

function termOf(own: ReadonlySet<string>, sent: Sent, at: number): Term {
  const { labelSelector, namespaces: listed = [], namespaceSelector, topologyKey } = plainTerm(sent);
  // An empty namespaceSelector means every namespace; a selector on labels of namespaces is treated as all of them.
  const namespaces = namespaceSelector ? ('all' as const) : listed.length === 0 ? own : new Set(listed);
  const selector = once(() => selectorFrom(labelSelector));
  return { at, key: topologyKey, selector, namespaces, weight: 'weight' in sent ? sent.weight : hardWeight };
}

const matches = ({ namespaces, selector }: Term, { metadata }: Pod): boolean =>
  (namespaces === 'all' || namespaces.has(metadata.namespace ?? '')) &&
  matchesSelector(selector(), metadata.labels);

const labelText = (key: string, value: string): string => `${key}=${value}`;

/** Labels, or keys of labels, of which a pod must have one to match; undefined: none is easily found. */
function neededLabels({ labelSelector }: PodAffinityTerm): readonly string[] | undefined {
  for (const key in labelSelector?.matchLabels) return [labelText(key, labelSelector.matchLabels[key]!)];
  const needs = labelSelector?.matchExpressions?.find(({ operator }) => ['In', 'Exists'].includes(operator));
  if (needs === undefined) return undefined;
  const { key, operator, values = [] } = needs;
  return operator === 'Exists' ? [key] : [...new Set(values)].map((value) => labelText(key, value));
}

export class AffinityTerms {
  readonly all: readonly Term[];
  /** Topology keys, each once. */
  readonly keys: ReadonlySet<string>;
  /** By a label, or its key, without which they match nothing: a tenant's pods may have thousands, and all pods are asked about. */
  readonly #byLabel = new Map<string, Term[]>();
  readonly #others: Term[] = [];

  constructor(owner: Pod, sent: readonly Sent[]) {
    const own = new Set([owner.metadata.namespace ?? '']);
    this.all = sent.map((one, at) => termOf(own, one, at));
    this.keys = new Set(this.all.map(({ key }) => key));
    for (const term of this.all) {
      const needed = neededLabels(plainTerm(sent[term.at]!));
      if (needed === undefined) this.#others.push(term);
      else for (const label of needed) this.#put(label, term);
    }
  }

  #put(label: string, term: Term): void {
    const list = this.#byLabel.get(label);
    if (list === undefined) this.#byLabel.set(label, [term]);
    else list.push(term);
  }

  /** Each that matches the pod, in no order. */
  eachMatching(pod: Pod, told: (term: Term) => void): void {
    for (const term of this.#others) if (matches(term, pod)) told(term);
    if (this.#byLabel.size === 0) return;
    const labels = pod.metadata.labels ?? {};
    for (const key of Object.keys(labels))
      for (const label of [key, labelText(key, labels[key]!)])
        for (const term of this.#byLabel.get(label) ?? []) if (matches(term, pod)) told(term);
  }

  matchAll(pod: Pod): boolean {
    return this.all.every((term) => matches(term, pod));
  }
}

const none: readonly Sent[] = [];
const known = new WeakMap<readonly Sent[], AffinityTerms>();

/** Of a list of a pod that nobody changes: each cycle asks about those of all pods. */
export function affinityTerms(owner: Pod, sent: readonly Sent[] = none): AffinityTerms {
  let terms = known.get(sent);
  if (terms === undefined) {
    terms = new AffinityTerms(owner, sent);
    known.set(sent, terms);
  }
  return terms;
}
