// The driver of tests and of servers that keep nothing: a sorted map, with the same contract as the durable ones.
import type { Clock } from '../../base/clock.ts';
import { SortedMap } from '../../base/sorted-map.ts';
import { entriesUnder } from '../entries-under.ts';
import type { HistoryLimits } from '../event-log.ts';
import { defaultHistoryLimits, EventLog } from '../event-log.ts';
import { Leases } from '../leases.ts';
import { stamp, withRevision } from '../stamp.ts';
import type {
  Draft,
  Entry,
  Key,
  KeyExists,
  LeaseId,
  ListOptions,
  ListResult,
  OnEvents,
  Revision,
  RevisionConflict,
  Storage,
  StorageEvent,
  StorageWatch,
  Written,
} from '../storage.ts';

/** Begins at 1, as etcd does: revision 0 means "any" in the API. */
const firstRevision = 1;

/** Nobody awaits a watcher: its error is the process's. */
function uncaught(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

export class MemoryStorage implements Storage {
  readonly #entries = new SortedMap<Entry>();
  readonly #log: EventLog;
  #revision: Revision = firstRevision;
  #closed = false;
  readonly #leases: Leases;

  constructor(
    clock: Clock,
    limits: HistoryLimits = defaultHistoryLimits,
    onWatcherError: (error: unknown) => void = uncaught,
  ) {
    this.#leases = new Leases(clock, async (lease, keys) => this.#expire(lease, keys));
    this.#log = new EventLog(clock, limits, firstRevision, onWatcherError);
  }

  async get(key: Key): Promise<Entry | undefined> {
    return this.#entries.get(key);
  }

  async list(prefix: Key, options?: ListOptions): Promise<ListResult> {
    const state = { entries: this.#entries, log: this.#log, now: this.#revision };
    return entriesUnder(state, prefix, options);
  }

  async create(key: Key, draft: Draft): Promise<Written | KeyExists> {
    this.#assertOpen();
    const current = this.#entries.get(key);
    if (current !== undefined) return { ok: false, reason: 'exists', current };
    return this.#put(key, draft, undefined);
  }

  async update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    this.#assertOpen();
    const current = this.#entries.get(key);
    if (current?.revision !== expected) return { ok: false, reason: 'conflict', current };
    return this.#put(key, draft, current);
  }

  async delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    this.#assertOpen();
    const current = this.#entries.get(key);
    if (current?.revision !== expected) return { ok: false, reason: 'conflict', current };
    const revision = ++this.#revision;
    const entry: Entry = { key, value: stamp(last, revision), revision };
    this.#entries.delete(key);
    this.#log.publish([{ ...entry, type: 'delete', previous: current }]);
    return { ok: true, entry };
  }

  #expire(lease: LeaseId, keys: Iterable<Key>): void {
    const events: StorageEvent[] = [];
    for (const key of keys) {
      const previous = this.#entries.get(key);
      if (previous?.lease !== lease) continue;
      const revision = ++this.#revision;
      this.#entries.delete(key);
      events.push({ type: 'delete', key, value: withRevision(previous.value, revision), revision, previous });
    }
    if (events.length > 0) this.#log.publish(events);
  }

  #put(key: Key, draft: Draft, previous: Entry | undefined): Written {
    const { lease } = draft;
    if (lease !== undefined) this.#leases.attach(lease, key);
    const revision = ++this.#revision;
    const state = { key, value: stamp(draft, revision), revision };
    const entry: Entry = lease === undefined ? state : { ...state, lease };
    this.#entries.set(key, entry);
    const created = previous === undefined;
    this.#log.publish([{ type: 'put', key, value: entry.value, revision, created, previous }]);
    return { ok: true, entry };
  }

  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch {
    return this.#log.watch(prefix, from, onEvents);
  }

  async grant(ttlMs: number): Promise<LeaseId> {
    this.#assertOpen();
    return this.#leases.grant(ttlMs);
  }

  async timeToLive(lease: LeaseId): Promise<number | undefined> {
    return this.#leases.timeToLive(lease);
  }

  async compact(upTo: Revision): Promise<void> {
    this.#log.compact(Math.min(upTo, this.#revision));
  }

  revision(): Revision {
    return this.#revision;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#leases.close();
    this.#log.close();
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('the store is closed');
  }
}
