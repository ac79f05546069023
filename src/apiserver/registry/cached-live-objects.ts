// Live objects out of the server's own caches; parsed once for each stored version, except for kinds that are many.
import type { Scheme } from '../../apimachinery/declaration.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { CompactedError } from '../../storage/storage.ts';
import type {
  CachedObject,
  CacheSource,
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

export function createLiveObjects(scheme: Scheme, source: CacheSource): LiveObjects {
  const caches = new WeakMap<ResourceRef, ResourceCache>();
  const parsed = new WeakMap<CachedObject, unknown>();
  /** By what made it, then by the stored version. */
  const summarized = new WeakMap<object, WeakMap<CachedObject, unknown>>();
  const watched = new WeakMap<ResourceRef, Watched>();

  // Nothing of a kind that is not served exists.
  const cacheOf = (ref: ResourceRef): ResourceCache | undefined => {
    const known = caches.get(ref);
    if (known !== undefined) return known;
    const declaration = scheme.resource(ref.group, ref.version, ref.resource);
    if (declaration === undefined) return undefined;
    const { storage } = declaration;
    const stored = scheme.resource(storage.group, storage.version, storage.resource) ?? declaration;
    const cache = openCache(source, stored);
    caches.set(ref, cache);
    return cache;
  };
  const parse = (ref: ResourceRef, object: CachedObject): unknown => {
    if (notKept.includes(`${ref.group}/${ref.resource}`)) return decodeEntry(object.value);
    let value = parsed.get(object);
    if (value === undefined) {
      value = decodeEntry(object.value);
      parsed.set(object, value);
    }
    return value;
  };

  return {
    get<T>(ref: ResourceRef<T>, name: string, namespace = ''): T | undefined {
      const found = cacheOf(ref)?.get(namespace, name);
      return found === undefined ? undefined : (parse(ref, found) as T);
    },
    list<T>(ref: ResourceRef<T>, options: Parameters<LiveObjects['list']>[1] = {}): readonly T[] {
      const { namespace = '', field } = options;
      const cache = cacheOf(ref);
      if (cache === undefined) return [];
      const { items } = cache.list({
        namespace,
        limit: Number.MAX_SAFE_INTEGER,
        ...(field === undefined
          ? {}
          : { exactField: field, matches: (index) => index.fields[field.name] === field.value }),
      });
      return items.map((item) => parse(ref, item) as T);
    },
    summaries<T, R>(ref: ResourceRef<T>, namespace: string, make: (object: T) => R): readonly R[] {
      let known = summarized.get(make);
      if (known === undefined) {
        known = new WeakMap();
        summarized.set(make, known);
      }
      const { items = [] } = cacheOf(ref)?.list({ namespace, limit: Number.MAX_SAFE_INTEGER }) ?? {};
      return items.map((item) => {
        let summary = known.get(item) as R | undefined;
        if (summary === undefined) {
          summary = make(parse(ref, item) as T);
          known.set(item, summary);
        }
        return summary;
      });
    },
    count({ group, resource }, namespace) {
      const declaration = scheme
        .resources()
        .find((d) => d.group === group && d.resource === resource && d.namespaced && !d.virtual);
      const cache = declaration && cacheOf(declaration);
      return cache?.list({ namespace, limit: Number.MAX_SAFE_INTEGER }).items.length;
    },
    version(ref) {
      const cache = cacheOf(ref);
      if (cache === undefined) return 0;
      const known = watched.get(ref);
      if (known === undefined) {
        watched.set(ref, { cursor: cache.watch(cache.currentRevision(), ''), version: 0 });
        return 0;
      }
      try {
        while (known.cursor.next() !== undefined) known.version++;
      } catch (error) {
        if (!(error instanceof CompactedError)) throw error;
        // More changed than the ring remembers; how much does not matter.
        known.cursor.close();
        known.cursor = cache.watch(cache.currentRevision(), '');
        known.version++;
      }
      return known.version;
    },
  };
}
