// Terms of pod affinity as cycles ask about them: read once for each list, and asked about a pod all at once.
import type { Pod, PodAffinityTerm, WeightedPodAffinityTerm } from '../../api/generated/types/core-v1.ts';
import type { Labels } from '../../apimachinery/labels.ts';
import { type Differing, rowOf, SelectorTable } from '../../apimachinery/selector-table.ts';

type Sent = PodAffinityTerm | WeightedPodAffinityTerm;

/** A namespace with its labels. */
export interface NamespaceView {
  readonly name: string;
  readonly labels: Labels;
}

/** What a required term of a placed pod is worth to those that it names: upstream's hardPodAffinityWeight. */
const hardWeight = 1;

const plainTerm = (sent: Sent): PodAffinityTerm => ('podAffinityTerm' in sent ? sent.podAffinityTerm : sent);

/** How many terms, and what they weigh together. */
export interface Sum {
  readonly count: number;
  readonly weight: number;
}

/** Which scopes a namespace is in. */
interface Holding {
  readonly holds: readonly boolean[];
  readonly any: boolean;
  readonly all: boolean;
}

const unnamed: readonly number[] = [];
/** Of namespaces that scopes tell apart: pods of several follow each other. */
const maxHoldings = 64;

/**
 * The namespaces that terms are about, each scope once: those named and those whose labels match. A term that says nothing of
 * either is about its pod's own; one with a selector only if that matches it.
 */
class Scopes {
  readonly #ids = new Map<string, number>();
  readonly #byName = new Map<string, number[]>();
  readonly #selectors: PodAffinityTerm['namespaceSelector'][] = [];
  readonly #own: string;
  #table: SelectorTable | undefined;
  #last: { readonly of: NamespaceView; readonly holding: Holding } | undefined;
  /** By what the labels decide, and by the scopes that name the namespace: one for all that no scope tells apart. */
  #known = new WeakMap<Differing, Map<readonly number[], Holding>>();
  #knownCount = 0;

  constructor(own: string) {
    this.#own = own;
  }

  idOf({ namespaces = [], namespaceSelector }: PodAffinityTerm): number {
    const isOwn = namespaces.length === 0 && namespaceSelector === undefined;
    const text = isOwn ? '' : JSON.stringify([namespaces, namespaceSelector]);
    let id = this.#ids.get(text);
    if (id === undefined) {
      id = this.#ids.size;
      this.#ids.set(text, id);
      this.#selectors.push(namespaceSelector);
      for (const name of isOwn ? [this.#own] : namespaces) {
        const ids = this.#byName.get(name);
        if (ids === undefined) this.#byName.set(name, [id]);
        else ids.push(id);
      }
    }
    return id;
  }

  holding(namespace: NamespaceView): Holding {
    const last = this.#last;
    if (last?.of.name === namespace.name && last.of.labels === namespace.labels) return last.holding;
    this.#table ??= new SelectorTable(this.#selectors.map(rowOf));
    const differing = this.#table.differing(namespace.labels);
    const named = this.#byName.get(namespace.name) ?? unnamed;
    const holding = this.#known.get(differing)?.get(named) ?? this.#decide(this.#table, differing, named);
    this.#last = { of: namespace, holding };
    return holding;
  }

  #decide({ base }: SelectorTable, differing: Differing, named: readonly number[]): Holding {
    const holds = [...base];
    for (const id of differing.rows) holds[id] = !holds[id];
    for (const id of named) holds[id] = true;
    const holding = { holds, any: holds.includes(true), all: !holds.includes(false) };
    if (++this.#knownCount > maxHoldings) {
      this.#known = new WeakMap();
      this.#knownCount = 1;
    }
    const ofAnswer = this.#known.get(differing) ?? new Map<readonly number[], Holding>();
    this.#known.set(differing, ofAnswer.set(named, holding));
    return holding;
  }
}

/** Fewer are summed up anew each time: their answers are not kept either. */
const fewTerms = 32;

export class AffinityTerms {
  readonly size: number;
  /** Topology keys, each once. */
  readonly keys: ReadonlySet<string>;
  readonly #scopes: Scopes;
  /** Of each term: its topology key, what it is about, and what it is worth. */
  readonly #keyOf: readonly string[];
  readonly #scopeOf: readonly number[];
  readonly #weightOf: readonly number[];
  readonly #table: SelectorTable;
  /** The terms that match a pod without labels, by topology key. */
  readonly #base: ReadonlyMap<string, readonly number[]>;
  /** Summed up once for each key that a node has, while the table keeps the answer. */
  readonly #summed = new WeakMap<Differing, WeakMap<Holding, Map<string, Sum>>>();

  constructor(owner: Pod, sent: readonly Sent[]) {
    this.size = sent.length;
    this.#scopes = new Scopes(owner.metadata.namespace ?? '');
    const terms = sent.map(plainTerm);
    this.#keyOf = terms.map(({ topologyKey }) => topologyKey);
    this.#scopeOf = terms.map((term) => this.#scopes.idOf(term));
    this.#weightOf = sent.map((one) => ('weight' in one ? one.weight : hardWeight));
    this.keys = new Set(this.#keyOf);
    const table = new SelectorTable(terms.map(({ labelSelector }) => rowOf(labelSelector)));
    this.#table = table;
    const matching = [...terms.keys()].filter((at) => table.base[at]);
    this.#base = Map.groupBy(matching, (at) => this.#keyOf[at]!);
  }

  /** Those that match a pod of the namespace, summed up by topology key; undefined: none does. */
  matching(pod: Pod, namespace: NamespaceView): ((key: string) => Sum) | undefined {
    if (this.size === 0) return undefined;
    const differing = this.#table.differing(pod.metadata.labels ?? {});
    if (this.#table.baseCount + differing.balance === 0) return undefined;
    const holding = this.#scopes.holding(namespace);
    if (!holding.any) return undefined;
    if (this.size < fewTerms) return (key) => this.#sum(key, differing, holding);
    const known = this.#knownSums(differing, holding);
    return (key) => {
      const sum = known.get(key) ?? this.#sum(key, differing, holding);
      known.set(key, sum);
      return sum;
    };
  }

  matchAll(pod: Pod, namespace: NamespaceView): boolean {
    return this.#table.count(pod.metadata.labels ?? {}) === this.size && this.#scopes.holding(namespace).all;
  }

  #knownSums(differing: Differing, holding: Holding): Map<string, Sum> {
    const ofAnswer = this.#summed.get(differing) ?? new WeakMap<Holding, Map<string, Sum>>();
    this.#summed.set(differing, ofAnswer);
    const known = ofAnswer.get(holding) ?? new Map<string, Sum>();
    ofAnswer.set(holding, known);
    return known;
  }

  /** What matches without labels, and what the pod's labels make different. */
  #sum(key: string, { rows }: Differing, { holds }: Holding): Sum {
    let [count, weight] = [0, 0];
    const add = (at: number, sign: 1 | -1): void => {
      if (!holds[this.#scopeOf[at]!]) return;
      count += sign;
      weight += sign * this.#weightOf[at]!;
    };
    for (const at of this.#base.get(key) ?? []) add(at, 1);
    for (const at of rows) if (this.#keyOf[at] === key) add(at, this.#table.base[at] ? -1 : 1);
    return { count, weight };
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
