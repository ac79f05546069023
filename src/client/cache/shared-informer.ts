// One reflector and one store for any number of handlers.

import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Informer, InformerHandler, Lister } from './informer.ts';
import { metaOf, ObjectStore, objectKey } from './object-store.ts';
import type { ReflectorSink } from './reflector.ts';
import { sharing } from './shared-parts.ts';

export type Freeze = (object: unknown) => void;

/** Costs more than the parse; for tests, where a controller that writes into the cache must fail. */
export function deepFreeze(object: unknown): void {
  if (typeof object !== 'object' || object === null || Object.isFrozen(object)) return;
  Object.freeze(object);
  for (const value of Object.values(object)) deepFreeze(value);
}

export type Trim = (object: unknown) => void;

/**
 * Half of a pod's memory, and no component reads them. An update without them keeps the ones that the server has.
 * Not `delete`, which would turn the metadata into a hash table.
 */
export const dropManagedFields: Trim = (object) => {
  (object as { metadata: { managedFields?: unknown } }).metadata.managedFields = undefined;
};

/** Owners of which the newest object is remembered. */
const maxOwners = 256;

export interface InformerOptions {
  readonly trim?: Trim | undefined;
  readonly freeze?: Freeze | undefined;
}

/** Of what has no owner: the namespace. */
const ownerOf = (object: unknown): string => {
  const { ownerReferences, namespace } = metaOf(object);
  return ownerReferences?.[0]?.uid ?? namespace ?? '';
};

export class SharedInformer<T> implements Informer<T>, ReflectorSink<T> {
  readonly resource: ResourceRef<T>;
  readonly #store = new ObjectStore<T>();
  readonly #handlers = new Set<InformerHandler<T>>();
  readonly #log: Logger;
  readonly #trim: Trim | undefined;
  readonly #freeze: Freeze | undefined;
  /** The newest object of each owner: its template's next one will be much like it. */
  readonly #newest = new Map<string, T>();
  readonly #synced: Promise<void>;
  #isSynced = false;
  #resolveSynced: () => void = () => {};

  constructor(resource: ResourceRef<T>, log: Logger, options: InformerOptions = {}) {
    this.resource = resource;
    this.#log = log;
    this.#trim = options.trim;
    this.#freeze = options.freeze;
    this.#synced = new Promise((resolve) => {
      this.#resolveSynced = resolve;
    });
  }

  get lister(): Lister<T> {
    return this.#store;
  }
  hasSynced(): boolean {
    return this.#isSynced;
  }
  synced(signal?: AbortSignal): Promise<void> {
    if (this.#isSynced || signal === undefined) return this.#synced;
    return untilAborted(this.#synced, signal);
  }

  addHandler(handler: InformerHandler<T>): () => void {
    this.#handlers.add(handler);
    for (const object of this.#store.list()) this.#call(() => handler.added?.(object));
    return () => this.#handlers.delete(handler);
  }
  addIndex(name: string, values: (object: T) => readonly string[]): void {
    this.#store.addIndex(name, values);
  }

  replace(objects: readonly T[]): void {
    const gone = new Set(this.#store.keys());
    for (const object of objects) {
      gone.delete(objectKey(object));
      this.set(object);
    }
    for (const key of gone) this.#remove(key, undefined);
    if (!this.#isSynced) {
      this.#isSynced = true;
      this.#resolveSynced();
    }
  }

  set(object: T): void {
    const key = objectKey(object);
    let before = this.#store.byKey(key);
    if (before !== undefined) {
      const [was, is] = [metaOf(before), metaOf(object)];
      // A list read again, or a watch that starts a little early, repeats what is known.
      if (was.resourceVersion === is.resourceVersion && was.uid === is.uid) return;
      // Deleted and made again while nobody looked: two objects, not an update of one.
      if (was.uid !== is.uid) {
        this.#remove(key, undefined);
        before = undefined;
      }
    }
    this.#trim?.(object);
    this.#shareParts(object, before);
    this.#freeze?.(object);
    const old = this.#store.set(key, object);
    for (const handler of this.#handlers)
      this.#call(() => (old === undefined ? handler.added?.(object) : handler.updated?.(old, object)));
  }

  /** Most of an object lives on with the one before; what is new dies young. */
  #shareParts(object: T, before: T | undefined): void {
    const owner = ownerOf(object);
    const like = before ?? this.#newest.get(owner);
    if (like !== undefined) sharing(object, like);
    // It may have had another owner.
    if (before !== undefined) this.#forgetNewest(before);
    this.#newest.delete(owner);
    this.#newest.set(owner, object);
    if (this.#newest.size > maxOwners) this.#newest.delete(this.#newest.keys().next().value ?? '');
  }

  /** Nothing of a deleted object is kept: whoever makes and deletes large ones has no quota in here. */
  #forgetNewest(object: T): void {
    const owner = ownerOf(object);
    const newest = this.#newest.get(owner);
    if (newest !== undefined && metaOf(newest).uid === metaOf(object).uid) this.#newest.delete(owner);
  }

  remove(object: T): void {
    this.#trim?.(object);
    this.#freeze?.(object);
    this.#remove(objectKey(object), object);
  }

  #remove(key: string, last: T | undefined): void {
    const old = this.#store.delete(key);
    if (old === undefined) return;
    this.#forgetNewest(old);
    const object = last ?? old;
    for (const handler of this.#handlers) this.#call(() => handler.deleted?.(object));
  }

  /** One component's bug must not make the others deaf. */
  #call(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#log.error({ error, resource: this.resource.resource }, 'informer handler failed');
    }
  }
}
