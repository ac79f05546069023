// Watches of this server's own informers: what was written comes to them as it was, without bytes between that must be parsed again.
import type { Scheme } from '../apimachinery/declaration.ts';
import type { ResourceRef } from '../apimachinery/resource-ref.ts';
import { openCache } from '../apiserver/registry/stored-resource.ts';
import type { Client, WatchEvent, WatchOptions } from '../client/client.ts';
import { parseLarge } from '../client/parse-large.ts';
import type { CacheSource, ResourceCache } from '../storage/watch/resource-cache.ts';
import { storeStatus } from '../storage/watch/store-status.ts';

interface Stored {
  readonly scheme: Scheme;
  readonly caches: CacheSource;
}

/**
 * For a client that may read everything: nobody is asked whether it may. A watch that the cache can't tell as it is
 * (with a selector, of another version than the stored one, of custom resources) goes the way of all others.
 */
export function withOwnWatches(client: Client, stored: Stored): Client {
  return {
    ...client,
    watch: <T>(resource: ResourceRef<T>, options: WatchOptions = {}) => {
      const cache = tellsAll(options) ? cacheOf(stored, resource) : undefined;
      if (cache === undefined) return client.watch(resource, options);
      return watchCache<T>(cache, options);
    },
  };
}

const tellsAll = ({ labelSelector, fieldSelector, resourceVersion = '' }: WatchOptions): boolean =>
  labelSelector === undefined && fieldSelector === undefined && Number(resourceVersion) > 0;

function cacheOf(
  { scheme, caches }: Stored,
  { group, version, resource }: ResourceRef,
): ResourceCache | undefined {
  const declaration = scheme.resource(group, version, resource);
  if (declaration === undefined || declaration.custom === true || declaration.virtual) return undefined;
  const { storage } = declaration;
  const isStored = storage.group === group && storage.version === version && storage.resource === resource;
  return isStored && declaration.conversion === undefined ? openCache(caches, declaration) : undefined;
}

async function* watchCache<T>(
  cache: ResourceCache,
  { namespace = '', resourceVersion, signal }: WatchOptions,
): AsyncGenerator<WatchEvent<T>, void> {
  const cursor = orExpired(() => cache.watch(Number(resourceVersion), namespace, { takesObjects: true }));
  let wake = (): void => {};
  const onAbort = (): void => wake();
  signal?.addEventListener('abort', onAbort);
  try {
    while (signal?.aborted !== true) {
      const event = orExpired(() => cursor.next());
      if (event === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          cursor.onEvent(resolve);
        });
        continue;
      }
      const object = event.takeObject() ?? (await parseLarge(event.object.value.toString('utf8')));
      yield { type: event.type, object: object as T };
    }
  } finally {
    signal?.removeEventListener('abort', onAbort);
    cursor.close();
  }
}

/** What the watcher must hear in order to list anew. */
function orExpired<R>(read: () => R): R {
  try {
    return read();
  } catch (error) {
    throw storeStatus(error);
  }
}
