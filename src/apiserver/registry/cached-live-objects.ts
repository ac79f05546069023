// Live objects out of the server's own caches; parsed once for each stored version, except for kinds that are many.
import type { Scheme } from '../../apimachinery/declaration.ts';
import { corruptObject } from '../../apimachinery/errors.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { CompactedError } from '../../storage/storage.ts';
import type {
  CachedObject,
  CacheSource,
  Predicate,
  ResourceCache,
  WatchCursor,
} from '../../storage/watch/resource-cache.ts';
import type { LiveObjects } from '../live-objects.ts';
import { decodeEntry } from './encode.ts';
import { openCache } from './stored-resource.ts';

/** Kinds whose parsed form is not kept: there may be tens of thousands, and they are asked for rarely. */
const notKept: readonly string[] = ['/pods', '/secrets', '/configmaps'];

interface Watched {
  cursor: WatchCursor;
  version: number;
}

export const createLiveObjects = (scheme: Scheme, source: CacheSource): LiveObjects =>
  new CachedLiveObjects(scheme, source);

class CachedLiveObjects implements LiveObjects {
  readonly #scheme: Scheme;
  readonly #source: CacheSource;
  readonly #caches = new WeakMap<ResourceRef, ResourceCache>();
  readonly #parsed = new WeakMap<CachedObject, unknown>();
  /** By what made it, then by the stored version. */
  readonly #summarized = new WeakMap<object, WeakMap<CachedObject, unknown>>();
  readonly #watched = new WeakMap<ResourceRef, Watched>();

  constructor(scheme: Scheme, source: CacheSource) {
    this.#scheme = scheme;
    this.#source = source;
  }

  /** Nothing of a kind that is not served exists. */
  #cacheOf(ref: ResourceRef): ResourceCache | undefined {
    const known = this.#caches.get(ref);
    if (known !== undefined) return known;
    const declaration = this.#scheme.resource(ref.group, ref.version, ref.resource);
    if (declaration === undefined) return undefined;
    const { storage } = declaration;
    const stored = this.#scheme.resource(storage.group, storage.version, storage.resource) ?? declaration;
    const cache = openCache(this.#source, stored);
    this.#caches.set(ref, cache);
    return cache;
  }

  #parse(ref: ResourceRef, object: CachedObject): unknown {
    if (notKept.includes(`${ref.group}/${ref.resource}`)) return decodeEntry(object.value);
    let value = this.#parsed.get(object);
    if (value === undefined) {
      value = decodeEntry(object.value);
      this.#parsed.set(object, value);
    }
    return value;
  }

  get<T>(ref: ResourceRef<T>, name: string, namespace = ''): T | undefined {
    const found = this.#cacheOf(ref)?.get(namespace, name);
    return found === undefined ? undefined : (this.#parse(ref, found) as T);
  }

  has(ref: ResourceRef, name: string, namespace: string): boolean {
    const cache = this.#cacheOf(ref);
    return cache?.get(namespace, name) !== undefined || cache?.unreadable(namespace, name) !== undefined;
  }

  stored(ref: ResourceRef, namespace: string, name: string): CachedObject | undefined {
    const cache = this.#cacheOf(ref);
    const unreadable = cache?.unreadable(namespace, name);
    if (unreadable !== undefined) throw corruptObject(unreadable);
    return cache?.get(namespace, name);
  }

  storedMatching(ref: ResourceRef, namespace: string, matches: Predicate): readonly CachedObject[] {
    return this.#cacheOf(ref)?.list({ namespace, matches, limit: Number.MAX_SAFE_INTEGER }).items ?? [];
  }

  list<T>(ref: ResourceRef<T>, options: Parameters<LiveObjects['list']>[1] = {}): readonly T[] {
    const { namespace = '', field } = options;
    const cache = this.#cacheOf(ref);
    if (cache === undefined) return [];
    const { items } = cache.list({
      namespace,
      limit: Number.MAX_SAFE_INTEGER,
      ...(field === undefined
        ? {}
        : { exactField: field, matches: (index) => index.fields[field.name] === field.value }),
    });
    return items.map((item) => this.#parse(ref, item) as T);
  }

  summaries<T, R>(ref: ResourceRef<T>, namespace: string, make: (object: T) => R): readonly R[] {
    let known = this.#summarized.get(make);
    if (known === undefined) {
      known = new WeakMap();
      this.#summarized.set(make, known);
    }
    const { items = [] } = this.#cacheOf(ref)?.list({ namespace, limit: Number.MAX_SAFE_INTEGER }) ?? {};
    return items.map((item) => {
      let summary = known.get(item) as R | undefined;
      if (summary === undefined) {
        summary = make(this.#parse(ref, item) as T);
        known.set(item, summary);
      }
      return summary;
    });
  }

  count({ group, resource }: Parameters<LiveObjects['count']>[0], namespace: string): number | undefined {
    const declaration = this.#scheme
      .resources()
      .find((d) => d.group === group && d.resource === resource && d.namespaced && !d.virtual);
    const cache = declaration && this.#cacheOf(declaration);
    return cache?.list({ namespace, limit: Number.MAX_SAFE_INTEGER }).items.length;
  }

  version(ref: ResourceRef): number {
    const cache = this.#cacheOf(ref);
    if (cache === undefined) return 0;
    const known = this.#watched.get(ref);
    if (known === undefined) {
      this.#watched.set(ref, { cursor: cache.watch(cache.currentRevision(), ''), version: 0 });
      return 0;
    }
    try {
      while (known.cursor.next() !== undefined) known.version++;
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      // More changed than the ring remembers, or the store was listed anew; how much does not matter.
      known.cursor.close();
      known.cursor = cache.watch(cache.currentRevision(), '');
      known.version++;
    }
    return known.version;
  }
}
