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
  count: number;
  weight: number;
}

function addTo<K>(sums: Map<K, Sum>, key: K, count: number, weight: number): void {
  const sum = sums.get(key);
  if (sum === undefined) sums.set(key, { count, weight });
  else {
    sum.count += count;
    sum.weight += weight;
  }
}

interface KnownTerm {
  /** Its topology key. */
  readonly key: string;
  readonly scope: number;
  readonly weight: number;
}

/** By topology key. */
type Changes = ReadonlyMap<string, Sum>;
const unchanged: Changes = new Map();

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
  #last: { readonly of: NamespaceView; readonly holds: readonly boolean[] } | undefined;

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

  /** Which scopes the namespace is in. */
  holding(namespace: NamespaceView): readonly boolean[] {
    const last = this.#last;
    if (last?.of.name === namespace.name && last.of.labels === namespace.labels) return last.holds;
    this.#table ??= new SelectorTable(this.#selectors.map(rowOf));
    const holds = [...this.#table.base];
    for (const id of this.#table.differing(namespace.labels).rows) holds[id] = !holds[id];
    for (const id of this.#byName.get(namespace.name) ?? []) holds[id] = true;
    this.#last = { of: namespace, holds };
    return holds;
  }
}

export class AffinityTerms {
  readonly size: number;
  /** Topology keys, each once. */
  readonly keys: ReadonlySet<string>;
  readonly #scopes: Scopes;
  readonly #terms: readonly KnownTerm[];
  readonly #table: SelectorTable;
  /** Of the terms that match a pod without labels: by topology key and scope. */
  readonly #base = new Map<string, Map<number, Sum>>();
  /** Summed up once while the table keeps the answer. */
  readonly #summed = new WeakMap<
    Differing,
    { readonly holds: readonly boolean[]; readonly changes: Changes }
  >();

  constructor(owner: Pod, sent: readonly Sent[]) {
    this.size = sent.length;
    this.#scopes = new Scopes(owner.metadata.namespace ?? '');
    this.#terms = sent.map((one) => {
      const term = plainTerm(one);
      const weight = 'weight' in one ? one.weight : hardWeight;
      return { key: term.topologyKey, scope: this.#scopes.idOf(term), weight };
    });
    this.keys = new Set(this.#terms.map(({ key }) => key));
    this.#table = new SelectorTable(sent.map((one) => rowOf(plainTerm(one).labelSelector)));
    for (const [at, holds] of this.#table.base.entries()) if (holds) this.#addToBase(this.#terms[at]!);
  }

  /** Those that match a pod of the namespace, summed up by topology key; undefined: none does. */
  matching(pod: Pod, namespace: NamespaceView): ((key: string) => Sum) | undefined {
    if (this.size === 0) return undefined;
    const differing = this.#table.differing(pod.metadata.labels ?? {});
    if (this.#table.baseCount + differing.balance === 0) return undefined;
    const holds = this.#scopes.holding(namespace);
    if (!holds.includes(true)) return undefined;
    const changes = this.#changes(differing, holds);
    return (key) => {
      const sum = { ...(changes.get(key) ?? { count: 0, weight: 0 }) };
      for (const [scope, { count, weight }] of this.#base.get(key) ?? []) {
        if (!holds[scope]) continue;
        sum.count += count;
        sum.weight += weight;
      }
      return sum;
    };
  }

  matchAll(pod: Pod, namespace: NamespaceView): boolean {
    return (
      this.#table.count(pod.metadata.labels ?? {}) === this.size &&
      !this.#scopes.holding(namespace).includes(false)
    );
  }

  #addToBase({ key, scope, weight }: KnownTerm): void {
    const ofKey = this.#base.get(key) ?? new Map<number, Sum>();
    this.#base.set(key, ofKey);
    addTo(ofKey, scope, 1, weight);
  }

  /** What the pod's labels make different from a pod without any. */
  #changes(differing: Differing, holds: readonly boolean[]): Changes {
    if (differing.rows.length === 0) return unchanged;
    const before = this.#summed.get(differing);
    if (before?.holds === holds) return before.changes;
    const changes = this.#sum(differing, holds);
    this.#summed.set(differing, { holds, changes });
    return changes;
  }

  #sum({ rows }: Differing, holds: readonly boolean[]): Changes {
    const changes = new Map<string, Sum>();
    for (const at of rows) {
      const { key, scope, weight } = this.#terms[at]!;
      if (!holds[scope]) continue;
      const sign = this.#table.base[at] ? -1 : 1;
      addTo(changes, key, sign, sign * weight);
    }
    return changes;
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
