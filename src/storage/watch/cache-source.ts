// All caches over one store: one list and one watch of the whole registry feed them.
import { StatusError } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import { stampedRevision } from '../stamp.ts';
import type { Entry, Key, Revision, Storage, StorageEvent } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import { HistoryBudget } from './history-budget.ts';
import type { CacheContext } from './memory-resource-cache.ts';
import { MemoryResourceCache } from './memory-resource-cache.ts';
import type { CacheSource, IndexRecord, ResourceCache } from './resource-cache.ts';

export interface ClosableCacheSource extends CacheSource {
  /** Ends the watch; the storage stays open. */
  close(): void;
}

const root: Key = '/registry/';
/** As upstream's watch cache: how long a read waits for a revision that is not here yet. */
const waitForFreshMs = 3_000;

interface Waiter {
  readonly revision: Revision;
  readonly resolve: () => void;
  readonly cancel: () => void;
}

/** `onUnreadable`: an object is no JSON. It is left out, so that it harms nobody but itself; its name stays taken. */
export async function createCacheSource(
  storage: Storage,
  clock: Clock,
  onUnreadable: (key: Key) => void = () => {},
): Promise<ClosableCacheSource> {
  const { entries, revision } = await storage.list(root);
  const unreadable = new Map(
    entries.filter((entry) => !isJson(entry.value)).map(({ key, revision }) => [key, revision]),
  );
  for (const key of unreadable.keys()) onUnreadable(key);
  const source = new StorageCacheSource(storage, clock, revision, unreadable);
  source.start(entries);
  return source;
}

function isJson(value: Buffer): boolean {
  try {
    // Whether it can be parsed does not depend on how its letters are read, and these are read fastest.
    JSON.parse(value.toString('latin1'));
    return true;
  } catch {
    return false;
  }
}

class StorageCacheSource implements ClosableCacheSource, CacheContext {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly history: HistoryBudget = new HistoryBudget();
  readonly unreadable: Map<Key, Revision>;
  readonly #caches = new Map<Key, MemoryResourceCache>();
  readonly #waiters = new Set<Waiter>();
  readonly #loaded: Revision;
  /** Where the history begins that the caches were given. */
  #floor: Revision;
  #seen: Revision;
  #stop: () => void = () => {};

  constructor(storage: Storage, clock: Clock, loaded: Revision, unreadable: Map<Key, Revision>) {
    this.unreadable = unreadable;
    this.storage = storage;
    this.clock = clock;
    this.#loaded = loaded;
    this.#floor = loaded;
    this.#seen = loaded;
  }

  start(entries: readonly Entry[]): void {
    const { unreadable } = this;
    const history: StorageEvent[] = [];
    const live: StorageEvent[] = [];
    let started = false;
    const onEvents = (events: readonly StorageEvent[]): void => {
      if (started) this.#apply(events);
      else for (const event of events) (event.revision <= this.#loaded ? history : live).push(event);
    };
    // From as far back as the store remembers, so that watches survive a restart of the server.
    try {
      this.#floor = 0;
      this.#stop = this.storage.watch(root, 0, onEvents);
    } catch (error) {
      if (!(error instanceof CompactedError)) throw error;
      this.#floor = Math.min(error.compactedTo, this.#loaded);
      this.#stop = this.storage.watch(root, error.compactedTo, onEvents);
    }
    started = true;
    for (const entry of entries) if (!unreadable.has(entry.key)) this.#cacheOf(entry.key).load(entry);
    this.#remember(unreadable.size === 0 ? history : history.filter(({ key }) => !unreadable.has(key)));
    this.#apply(live);
  }

  #remember(history: readonly StorageEvent[]): void {
    const last = new Map<Key, Entry>();
    for (const event of history) {
      const known = last.get(event.key);
      const before = event.previous;
      const previous =
        known ?? (before && { key: event.key, value: before, revision: stampedRevision(before) });
      this.#cacheOf(event.key).remember(
        event,
        event.type === 'put' && event.created ? undefined : (previous ?? event),
      );
      if (event.type === 'put') last.set(event.key, event);
      else last.delete(event.key);
    }
  }

  #apply(events: readonly StorageEvent[]): void {
    const touched = new Set<MemoryResourceCache>();
    for (const event of events) {
      this.#seen = event.revision;
      // Its deletion, which is all that can happen to it.
      if (this.unreadable.delete(event.key)) continue;
      const cache = this.#cacheOf(event.key);
      cache.apply(event);
      touched.add(cache);
    }
    for (const waiter of this.#waiters)
      if (waiter.revision <= this.#seen) {
        this.#waiters.delete(waiter);
        waiter.cancel();
        waiter.resolve();
      }
    for (const cache of touched) cache.wake();
  }

  cache(
    resource: { readonly group: string; readonly resource: string },
    indexOf: (object: unknown) => IndexRecord,
  ): ResourceCache {
    const group = resource.group === '' ? 'core' : resource.group;
    const cache = this.#cacheAt(`${root}${group}/${resource.resource}/`);
    cache.useIndex(indexOf);
    return cache;
  }

  /** `/registry/<group>/<resource>/`, the first part of a key. */
  #cacheOf(key: Key): MemoryResourceCache {
    const group = key.indexOf('/', root.length);
    const resource = group < 0 ? -1 : key.indexOf('/', group + 1);
    return this.#cacheAt(resource < 0 ? root : key.slice(0, resource + 1));
  }

  #cacheAt(prefix: Key): MemoryResourceCache {
    let cache = this.#caches.get(prefix);
    if (cache === undefined) {
      cache = new MemoryResourceCache(this, prefix, this.#floor);
      this.#caches.set(prefix, cache);
    }
    return cache;
  }

  seen(): Revision {
    return this.#seen;
  }

  waitFor(revision: Revision): Promise<void> {
    if (revision <= this.#seen) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const cancel = this.clock.timer(waitForFreshMs, () => {
        this.#waiters.delete(waiter);
        reject(tooLargeResourceVersion(revision, this.#seen));
      });
      const waiter: Waiter = { revision, resolve, cancel };
      this.#waiters.add(waiter);
    });
  }

  close(): void {
    this.#stop();
    for (const waiter of this.#waiters) waiter.cancel();
    this.#waiters.clear();
  }
}

/** Upstream's NewTooLargeResourceVersionError. */
function tooLargeResourceVersion(asked: Revision, current: Revision): StatusError {
  return new StatusError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${asked}, current: ${current}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  );
}
