// All caches over one store: one list and one watch of the whole registry feed them.
import { StatusError } from '../../apimachinery/errors.ts';
import type { Clock } from '../../base/clock.ts';
import type { Entry, Key, Revision, Storage, StorageEvent, WatchEnd } from '../storage.ts';
import { adoptUnleased } from './adopt-unleased.ts';
import { HistoryBudget } from './history-budget.ts';
import type { CacheContext } from './memory-resource-cache.ts';
import { MemoryResourceCache } from './memory-resource-cache.ts';
import type { CacheSource, IndexRecord, ResourceCache, UnreadableObject } from './resource-cache.ts';
import { SharedLeases } from './shared-leases.ts';
import { type FeedTarget, type FirstState, StoreFeed } from './store-feed.ts';
import { storeStatus } from './store-status.ts';

export interface ClosableCacheSource extends CacheSource {
  /** Looks again at what could not be opened: a key may have come. Answers how much still can't. */
  readAgain(): Promise<number>;
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

export interface CacheSourceOptions {
  /** An object is no JSON. It is left out, so that it harms nobody but itself; its name stays taken. */
  readonly onUnreadable?: (key: Key) => void;
  /** How long objects under a prefix, `/registry/<group>/<resource>/`, live after their last write. */
  readonly lifetimes?: ReadonlyMap<Key, number>;
  /** The store's watch has ended, or the store can't be listed; it is tried again. */
  readonly onTrouble?: (why: WatchEnd) => void;
}

export async function createCacheSource(
  storage: Storage,
  clock: Clock,
  options: CacheSourceOptions = {},
): Promise<ClosableCacheSource> {
  const { onUnreadable = () => {}, onTrouble = () => {}, lifetimes = new Map() } = options;
  const feed = new StoreFeed(storage, clock, root, onTrouble);
  const state = await feed.first();
  const source = new StorageCacheSource(storage, clock, feed, { onUnreadable, onTrouble, lifetimes });
  source.start(state);
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

const isReadable = (entry: Entry): boolean => entry.fault === undefined && isJson(entry.value);

class StorageCacheSource implements ClosableCacheSource, CacheContext, FeedTarget {
  readonly storage: Storage;
  readonly clock: Clock;
  readonly history: HistoryBudget = new HistoryBudget();
  readonly unreadable = new Map<Key, UnreadableObject>();
  readonly #feed: StoreFeed;
  readonly leases: SharedLeases;
  readonly #options: Required<CacheSourceOptions>;
  readonly #caches = new Map<Key, MemoryResourceCache>();
  readonly #waiters = new Set<Waiter>();
  /** Where the history begins that the caches were given. */
  #floor: Revision = 0;
  #seen: Revision = 0;
  #reading: Promise<number> | undefined;
  #isClosed = false;

  constructor(storage: Storage, clock: Clock, feed: StoreFeed, options: Required<CacheSourceOptions>) {
    this.storage = storage;
    this.clock = clock;
    this.#feed = feed;
    this.#options = options;
    this.leases = new SharedLeases(storage, clock);
  }

  start({ entries, revision, history, floor }: FirstState): void {
    this.#floor = floor;
    for (const entry of entries)
      if (isReadable(entry)) this.#cacheOf(entry.key).load(entry);
      else this.#leaveOut(entry);
    this.#remember(history);
    this.#seen = revision;
    this.#feed.follow(revision, this);
    for (const [prefix, ttlMs] of this.#options.lifetimes) this.#adopt(entries, prefix, ttlMs);
  }

  #adopt(entries: readonly Entry[], prefix: Key, ttlMs: number): void {
    const mine = entries.filter(({ key }) => key.startsWith(prefix) && !this.unreadable.has(key));
    adoptUnleased(this.storage, this.leases, mine, ttlMs).catch((error: unknown) =>
      this.#options.onTrouble({ reason: 'failed', error: error as Error }),
    );
  }

  /** What can't be opened is told by whoever tried; what is no JSON, here. */
  #leaveOut({ key, revision, fault }: Entry | StorageEvent): void {
    this.unreadable.set(key, { key, revision, fault });
    if (fault === undefined) this.#options.onUnreadable(key);
  }

  #remember(history: readonly StorageEvent[]): void {
    for (const event of history) {
      const cache = this.#cacheOf(event.key);
      const isHole = event.fault !== undefined || event.previous?.fault !== undefined;
      // Whoever was before it must list anew: nobody can tell what it was.
      if (isHole) cache.forgetHistory(event.revision);
      else if (!this.unreadable.has(event.key))
        cache.remember(event, event.type === 'put' && event.created ? undefined : (event.previous ?? event));
    }
  }

  apply(events: readonly StorageEvent[], revision: Revision): void {
    const touched = new Set<MemoryResourceCache>();
    for (const event of events) {
      this.#seen = event.revision;
      const cache = this.#cacheOf(event.key);
      touched.add(cache);
      if (this.unreadable.delete(event.key) || event.fault !== undefined) this.#applyUnreadable(cache, event);
      else cache.apply(event);
    }
    this.#seenUpTo(revision);
    for (const cache of touched) cache.wake();
  }

  /** Nobody could read it, or nobody can now. It is no deletion where none was told. */
  #applyUnreadable(cache: MemoryResourceCache, event: StorageEvent): void {
    if (event.type === 'put' && event.fault === undefined) cache.regain(event, event.revision);
    else {
      cache.lose(event.key, event.revision);
      if (event.type === 'put') this.#leaveOut(event);
    }
  }

  replace(entries: readonly Entry[], revision: Revision): void {
    this.unreadable.clear();
    const byCache = Map.groupBy(entries, ({ key }) => this.#cacheOf(key));
    for (const [cache, all] of byCache) {
      const isFine = (entry: Entry): boolean =>
        entry.fault === undefined && (cache.has(entry) || isReadable(entry));
      for (const entry of all) if (!isFine(entry)) this.#leaveOut(entry);
      byCache.set(
        cache,
        all.filter(({ key }) => !this.unreadable.has(key)),
      );
    }
    this.#floor = revision;
    for (const cache of this.#caches.values()) cache.replace(byCache.get(cache) ?? [], revision);
    this.#seenUpTo(revision);
    for (const cache of this.#caches.values()) cache.wake();
  }

  readAgain(): Promise<number> {
    this.#reading ??= this.#readAgain().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  #sealed(): readonly UnreadableObject[] {
    return [...this.unreadable.values()].filter(({ fault }) => fault !== undefined);
  }

  async #readAgain(): Promise<number> {
    const sealed = this.#sealed();
    for (const [i, { key, revision }] of sealed.entries()) {
      if (i % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
      const entry = await this.storage.get(key);
      if (entry === undefined || !isReadable(entry) || entry.revision !== revision) continue;
      // Meanwhile it was written again, or deleted.
      if (this.unreadable.get(key)?.revision !== revision) continue;
      this.unreadable.delete(key);
      const cache = this.#cacheOf(key);
      cache.regain(entry, this.#seen);
      cache.wake();
    }
    return this.#sealed().length;
  }

  #seenUpTo(revision: Revision): void {
    this.#seen = revision;
    for (const waiter of this.#waiters)
      if (waiter.revision <= revision) {
        this.#waiters.delete(waiter);
        waiter.cancel();
        waiter.resolve();
      }
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
      cache = new MemoryResourceCache(this, prefix, this.#floor, this.#options.lifetimes.get(prefix));
      this.#caches.set(prefix, cache);
    }
    return cache;
  }

  seen(): Revision {
    return this.#seen;
  }

  waitFor(revision: Revision, told: string = String(revision)): Promise<void> {
    if (revision <= this.#seen) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const refuse = (): void => reject(tooLargeResourceVersion(told, this.#seen));
      // Nothing comes any more, and no timer is to outlive what was closed.
      if (this.#isClosed) {
        refuse();
        return;
      }
      const cancel = this.clock.timer(waitForFreshMs, () => {
        this.#waiters.delete(waiter);
        refuse();
      });
      const waiter: Waiter = { revision, resolve, cancel };
      this.#waiters.add(waiter);
    });
  }

  fresh(): Promise<void> | undefined {
    const newest = this.storage.revision();
    if (typeof newest === 'number') return newest <= this.#seen ? undefined : this.waitFor(newest);
    return newest.then(
      (revision) => this.waitFor(revision),
      (error: unknown) => {
        throw storeStatus(error);
      },
    );
  }

  close(): void {
    this.#isClosed = true;
    this.#feed.close();
    for (const waiter of this.#waiters) waiter.cancel();
    this.#waiters.clear();
  }
}

/** Upstream's NewTooLargeResourceVersionError. */
function tooLargeResourceVersion(asked: string, current: Revision): StatusError {
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
