// Objects of one resource by key, with indexes that follow every change.
import type { Lister } from './informer.ts';

export interface Meta {
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly ownerReferences?: readonly { readonly uid: string }[] | undefined;
}

export const metaOf = (object: unknown): Meta => (object as { metadata: Meta }).metadata;

/** `namespace/name`, or the name alone. */
export function objectKey(object: unknown): string {
  const { name, namespace } = metaOf(object);
  return keyOf(name, namespace);
}
export const keyOf = (name: string, namespace: string | undefined): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;

const nothing: readonly never[] = Object.freeze([]);

interface Index<T> {
  readonly values: (object: T) => readonly string[];
  readonly objects: Map<string, Map<string, T>>;
}

export class ObjectStore<T> implements Lister<T> {
  readonly #objects = new Map<string, T>();
  readonly #byNamespace: Index<T> = {
    values: (object) => [metaOf(object).namespace ?? ''],
    objects: new Map(),
  };
  readonly #indexes = new Map<string, Index<T>>();

  addIndex(name: string, values: (object: T) => readonly string[]): void {
    if (this.#indexes.has(name)) return;
    const index: Index<T> = { values, objects: new Map() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) insert(index, key, object);
  }

  get size(): number {
    return this.#objects.size;
  }
  keys(): IterableIterator<string> {
    return this.#objects.keys();
  }
  byKey(key: string): T | undefined {
    return this.#objects.get(key);
  }

  /** Returns what was there. */
  set(key: string, object: T): T | undefined {
    const old = this.#objects.get(key);
    for (const index of this.#all()) {
      if (old !== undefined) remove(index, key, old);
      insert(index, key, object);
    }
    this.#objects.set(key, object);
    return old;
  }
  delete(key: string): T | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    for (const index of this.#all()) remove(index, key, old);
    this.#objects.delete(key);
    return old;
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#objects.get(keyOf(name, namespace));
  }
  list(namespace?: string): readonly T[] {
    if (namespace === undefined || namespace === '') return [...this.#objects.values()];
    const found = this.#byNamespace.objects.get(namespace);
    return found === undefined ? nothing : [...found.values()];
  }
  byIndex(name: string, value: string): readonly T[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`there is no index ${JSON.stringify(name)}`);
    const found = index.objects.get(value);
    return found === undefined ? nothing : [...found.values()];
  }

  *#all(): Iterable<Index<T>> {
    yield this.#byNamespace;
    yield* this.#indexes.values();
  }
}

function insert<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.values(object)) {
    let bucket = index.objects.get(value);
    if (bucket === undefined) {
      bucket = new Map();
      index.objects.set(value, bucket);
    }
    bucket.set(key, object);
  }
}

function remove<T>(index: Index<T>, key: string, object: T): void {
  for (const value of index.values(object)) {
    const bucket = index.objects.get(value);
    bucket?.delete(key);
    if (bucket?.size === 0) index.objects.delete(value);
  }
}
