// The embedded driver: state in memory, every write in SQLite before anyone sees it, many writes in one sync.
import type { Clock } from '../../base/clock.ts';
import { SortedMap } from '../../base/sorted-map.ts';
import { systemClock } from '../../component-base/system-clock.ts';
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
import { StorageError } from '../storage-error.ts';
import { entrySize, StoreSpace } from '../store-space.ts';
import type { Batch } from './batch.ts';
import { broken, watcherFailed } from './store-failures.ts';
import type { LoadedRow } from './writer-protocol.ts';
import type { Loaded } from './writer-thread.ts';
import { WriterThread } from './writer-thread.ts';

export interface SqliteStorageOptions {
  /** Made when missing, mode 0700. One server at a time. */
  readonly directory: string;
  /** Script of the writer thread. Default: the source file beside this one; a bundle names its own. */
  readonly workerUrl?: URL | undefined;
  readonly clock?: Clock | undefined;
  readonly history?: HistoryLimits | undefined;
  /** Writes begin to fail, with the first one's error; undefined: they succeed again. */
  readonly onTrouble?: ((error: StorageError | undefined) => void) | undefined;
}

/** Throws StorageError: Locked, Corrupt, Lost, Unsupported, WriteFailed. */
export async function openSqliteStorage(options: SqliteStorageOptions): Promise<Storage> {
  const workerUrl = options.workerUrl ?? new URL('./sqlite-writer.ts', import.meta.url);
  const writer = new WriterThread(workerUrl, { directory: options.directory });
  try {
    return new SqliteStorage(writer, await writer.load(), options);
  } catch (error) {
    await writer.stopped();
    throw error;
  }
}

/** A write that is decided but not yet durable, or an answer that rests on such a write. */
interface Pending {
  readonly write?: Write;
  readonly settle: () => void;
  readonly fail: (error: Error) => void;
}

interface Write {
  readonly event: StorageEvent;
  readonly entry: Entry;
  /** Revision of the state before, 0 when there was none. */
  readonly previous: Revision;
  /** What the store's space was asked for. */
  readonly growth: number;
  /** Taken on a full disk: a delete, what one takes, what the system can't live without. */
  readonly urgent: boolean;
}

interface Decided {
  readonly revision: Revision;
  /** undefined: deleted. */
  readonly state: Entry | undefined;
}

/** One sync takes no more than this; the rest waits for the next. */
const maxBatchBytes = 4 << 20;
/** Compaction reaches the file in steps of this many revisions. */
const compactionStep = 2_000;
/** … or of this many bytes: large objects must not fill the disk before. */
const compactionBytes = 32 << 20;
/** On a full disk: what is written goes where history was. */
const scarceCompactionStep = 20;

class SqliteStorage implements Storage {
  readonly space: StoreSpace = new StoreSpace();
  readonly #writer: WriterThread;
  readonly #entries = new SortedMap<Entry>();
  readonly #log: EventLog;
  readonly #leases: Leases;
  readonly #clock: Clock;
  /** By the monotonic clock. */
  readonly #opened: number;
  /** Newest decided state of keys whose write is under way. */
  readonly #newest = new Map<Key, Decided>();
  /** Last revision given out, and last one that is durable. */
  #head: Revision;
  #durable: Revision;
  #fileFloor: Revision;
  #fileForgotten = 0;
  #gathering: Pending[] = [];
  #scheduled = false;
  #syncing: Promise<void> | undefined;
  #closed = false;
  readonly #onTrouble: (error: StorageError | undefined) => void;
  #trouble: StorageError | undefined;

  constructor(writer: WriterThread, loaded: Loaded, options: SqliteStorageOptions) {
    this.#writer = writer;
    this.#onTrouble = options.onTrouble ?? (() => {});
    this.#head = loaded.revision;
    this.#durable = loaded.revision;
    this.#fileFloor = loaded.floor;
    this.#clock = options.clock ?? systemClock;
    this.#opened = this.#clock.monotonic();
    this.#leases = new Leases(this.#clock, (lease, keys) => this.#expire(lease, keys));
    const lease = this.#leasesOf(loaded.rows);
    for (const row of loaded.rows) {
      const entry = this.#entryOf(row.key, asBuffer(row.value), row.revision, lease(row));
      this.#entries.set(row.key, entry);
      this.space.take(row.key, entrySize(entry), undefined);
    }
    this.#log = new EventLog(
      this.#clock,
      options.history ?? defaultHistoryLimits,
      loaded.floor,
      (error) => this.#troubled(watcherFailed(error)),
      this.#historyOf(loaded),
    );
    writer.onEnd((error) => this.#troubled(error));
  }

  /** What ends within the same second shares a lease. */
  #leasesOf(rows: readonly LoadedRow[]): (row: LoadedRow) => LeaseId | undefined {
    const seconds = ({ remainingMs }: LoadedRow): number[] =>
      remainingMs === undefined ? [] : [Math.ceil(remainingMs / 1000)];
    const ends = new Set(rows.flatMap(seconds));
    const leases = new Map([...ends].map((end) => [end, this.#leases.grant(end * 1000)]));
    return (row) => leases.get(seconds(row)[0] ?? 0);
  }

  /** Throws StorageError NoLease. */
  #entryOf(key: Key, value: Buffer, revision: Revision, lease: LeaseId | undefined): Entry {
    if (lease === undefined) return { key, value, revision };
    this.#leases.attach(lease, key);
    return { key, value, revision, lease };
  }

  /** Entries that are the present state are shared with it, not held twice. */
  #historyOf(loaded: Loaded): StorageEvent[] {
    const known = new Map<Revision, Entry>();
    for (const [, entry] of this.#entries.from('')) known.set(entry.revision, entry);
    return loaded.history.map((row): StorageEvent => {
      const { key, revision } = row;
      const entry = known.get(revision) ?? { key, value: asBuffer(row.value ?? new Uint8Array()), revision };
      known.set(revision, entry);
      const before = row.previousValue && { key, value: asBuffer(row.previousValue), revision: row.previous };
      const previous = known.get(row.previous) ?? before;
      return row.put
        ? { ...entry, type: 'put', created: row.previous === 0, previous }
        : { ...entry, type: 'delete', previous };
    });
  }

  async get(key: Key): Promise<Entry | undefined> {
    return this.#entries.get(key);
  }

  async list(prefix: Key, options?: ListOptions): Promise<ListResult> {
    const state = { entries: this.#entries, log: this.#log, now: this.#durable };
    return entriesUnder(state, prefix, options);
  }

  create(key: Key, draft: Draft): Promise<Written | KeyExists> {
    const current = this.#newestOf(key);
    if (current !== undefined) return this.#refuse<KeyExists>({ ok: false, reason: 'exists', current });
    return this.#put(key, draft, undefined);
  }

  update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    const current = this.#newestOf(key);
    if (current?.revision !== expected)
      return this.#refuse<RevisionConflict>({ ok: false, reason: 'conflict', current });
    return this.#put(key, draft, current);
  }

  delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    const current = this.#newestOf(key);
    if (current?.revision !== expected)
      return this.#refuse<RevisionConflict>({ ok: false, reason: 'conflict', current });
    return this.#remove(current, (revision) => stamp(last, revision));
  }

  #remove(current: Entry, last: (revision: Revision) => Buffer): Promise<Written> {
    if (this.#closed) return Promise.reject(closed());
    const { key } = current;
    const revision = ++this.#head;
    const entry: Entry = { key, value: last(revision), revision };
    this.space.take(key, -entrySize(current), undefined);
    const event = { type: 'delete', key, value: entry.value, revision, previous: current } as const;
    const growth = -entrySize(current);
    return this.#write({ event, entry, previous: current.revision, growth, urgent: true });
  }

  /** Together: they are one batch, or few. */
  async #expire(lease: LeaseId, keys: Iterable<Key>): Promise<void> {
    const gone: Promise<Written>[] = [];
    for (const key of keys) {
      const current = this.#newestOf(key);
      if (current?.lease === lease)
        gone.push(this.#remove(current, (revision) => withRevision(current.value, revision)));
    }
    await Promise.all(gone);
  }

  #put(key: Key, draft: Draft, previous: Entry | undefined): Promise<Written> {
    if (this.#closed) return Promise.reject(closed());
    const revision = this.#head + 1;
    let entry: Entry;
    let growth: number;
    try {
      entry = this.#entryOf(key, stamp(draft, revision), revision, draft.lease);
      growth = entrySize(entry) - (previous === undefined ? 0 : entrySize(previous));
      this.space.take(key, growth, draft.urgency);
    } catch (error) {
      return Promise.reject(error);
    }
    this.#head = revision;
    const created = previous === undefined;
    const event = {
      type: 'put',
      key,
      value: entry.value,
      revision,
      created,
      previous,
    } as const;
    const urgent = this.space.isUrgent(key, growth, draft.urgency);
    return this.#write({ event, entry, previous: previous?.revision ?? 0, growth, urgent });
  }

  #newestOf(key: Key): Entry | undefined {
    const decided = this.#newest.get(key);
    return decided === undefined ? this.#entries.get(key) : decided.state;
  }

  #write(write: Write): Promise<Written> {
    this.#decide(write);
    return new Promise((resolve, reject) => {
      this.#gather({ write, settle: () => resolve({ ok: true, entry: write.entry }), fail: reject });
    });
  }

  #decide({ event: { type, key, revision }, entry }: Write): void {
    this.#newest.set(key, { revision, state: type === 'put' ? entry : undefined });
  }

  /** A refusal shows another's write: it must wait until that one is durable. */
  #refuse<T>(answer: T & { readonly current: Entry | undefined }): Promise<T> {
    if (this.#newest.size === 0) return Promise.resolve(answer);
    return new Promise((resolve, reject) => {
      this.#gather({ settle: () => resolve(answer), fail: reject });
    });
  }

  /** Idle: commit at the end of this turn. A sync is under way: gather until it is done. */
  #gather(pending: Pending): void {
    this.#gathering.push(pending);
    if (this.#scheduled || this.#syncing !== undefined) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#syncing ??= this.#sync();
    });
  }

  /** Whatever goes wrong, the next write must not wait for a sync that nobody goes on with. */
  async #sync(): Promise<void> {
    try {
      while (this.#gathering.length > 0) await this.#syncBatch();
    } catch (error) {
      this.#giveUp([], this.#troubled(broken(error)));
    }
    this.#syncing = undefined;
  }

  async #syncBatch(): Promise<void> {
    const batch = this.#takeBatch();
    const writes = batch.flatMap((p) => p.write ?? []);
    try {
      if (writes.length > 0) await this.#commit(writes, false);
    } catch (error) {
      await this.#writeUrgent(this.#giveUp(batch, this.#troubled(error)));
      this.#forgetHistory();
      return;
    }
    this.#done(batch, writes);
    if (writes.length > 0) this.#untroubled();
    this.#forgetHistory();
  }

  #done(batch: readonly Pending[], writes: readonly Write[]): void {
    for (const write of writes) this.#apply(write);
    if (writes.length > 0) this.#log.publish(writes.map((w) => w.event));
    for (const pending of batch) pending.settle();
  }

  /** After these the store is not used any more, whatever else succeeds. */
  #isOver(): boolean {
    return this.#trouble?.code === 'Broken' || this.#trouble?.code === 'Corrupt';
  }

  #troubled(error: unknown): StorageError {
    const trouble = error as StorageError;
    if (this.#isOver()) return this.#trouble!;
    if (this.#trouble?.code !== trouble.code) this.#onTrouble(trouble);
    this.#trouble = trouble;
    return trouble;
  }

  #untroubled(): void {
    if (this.#trouble === undefined || this.#isOver()) return;
    this.#trouble = undefined;
    this.#onTrouble(undefined);
  }

  async check(): Promise<void> {
    if (this.#trouble === undefined) return;
    if (this.#isOver()) throw this.#trouble;
    try {
      await this.#writer.request({ type: 'probe' });
    } catch (error) {
      throw this.#troubled(error);
    }
    this.#untroubled();
  }

  /** What makes room must not fail because there is none. */
  async #writeUrgent(batch: readonly Pending[]): Promise<void> {
    if (batch.length === 0) return;
    const writes = batch.flatMap((p) => p.write ?? []);
    for (const write of writes) this.#decide(write);
    try {
      await this.#commit(writes, true);
    } catch (error) {
      this.#giveUp(batch, error as Error);
      return;
    }
    this.#done(batch, writes);
  }

  #takeBatch(): Pending[] {
    let bytes = 0;
    let count = 0;
    while (count < this.#gathering.length && bytes < maxBatchBytes)
      bytes += this.#gathering[count++]!.write?.event.value.length ?? 0;
    return this.#gathering.splice(0, count);
  }

  #commit(writes: readonly Write[], urgent: boolean): Promise<void> {
    const count = writes.length;
    const lengths = new Uint32Array(count);
    const puts = new Uint8Array(count);
    const revisions = new Float64Array(count);
    const previous = new Float64Array(count);
    const keys: Key[] = [];
    let total = 0;
    writes.forEach(({ event, previous: before }, i) => {
      keys.push(event.key);
      puts[i] = event.type === 'put' ? 1 : 0;
      revisions[i] = event.revision;
      previous[i] = before;
      lengths[i] = event.value.length;
      total += event.value.length;
    });
    const values = new Uint8Array(total);
    let at = 0;
    for (const { event } of writes) {
      values.set(event.value, at);
      at += event.value.length;
    }
    const batch = { keys, puts, revisions, previous, lengths, values, leases: this.#leasesIn(writes) };
    return this.#writer.request({ type: 'batch', urgent, ...batch }, [values.buffer]);
  }

  /** Nothing when no write of the batch names one. */
  #leasesIn(writes: readonly Write[]): Batch['leases'] {
    if (writes.every(({ entry }) => entry.lease === undefined)) return undefined;
    const left = writes.map(({ entry: { lease } }) =>
      // One that has ended since is over soon, not never.
      lease === undefined ? 0 : Math.max(1, this.#leases.timeToLive(lease) ?? 0),
    );
    return { remainingMs: Float64Array.from(left), openMs: this.#openMs() };
  }

  #openMs(): number {
    return Math.floor(this.#clock.monotonic() - this.#opened);
  }

  #apply({ event, entry }: Write): void {
    if (event.type === 'put') this.#entries.set(event.key, entry);
    else this.#entries.delete(event.key);
    if (this.#newest.get(event.key)?.revision === event.revision) this.#newest.delete(event.key);
    this.#durable = event.revision;
  }

  /**
   * Whatever was decided after a write that failed rests on it, and fails with it. Its revisions are not used again.
   * Returns what is tried once more: on a full disk, what is urgent and rests on what is durable.
   */
  #giveUp(batch: readonly Pending[], error: Error): readonly Pending[] {
    const failed = [...batch, ...this.#gathering];
    this.#gathering = [];
    this.#newest.clear();
    const again: Pending[] = [];
    for (const pending of failed) {
      const { write } = pending;
      const canBe =
        write?.urgent === true && (this.#entries.get(write.event.key)?.revision ?? 0) === write.previous;
      if (error === this.#trouble && this.#trouble.code === 'NoSpace' && canBe) again.push(pending);
      else this.#fail(pending, error);
    }
    return again;
  }

  #fail({ write, fail }: Pending, error: Error): void {
    if (write !== undefined) this.space.giveBack(write.growth);
    fail(error);
  }

  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch {
    return this.#log.watch(prefix, from, onEvents);
  }

  async grant(ttlMs: number): Promise<LeaseId> {
    if (this.#closed) throw closed();
    return this.#leases.grant(ttlMs);
  }

  async timeToLive(lease: LeaseId): Promise<number | undefined> {
    return this.#leases.timeToLive(lease);
  }

  async compact(upTo: Revision): Promise<void> {
    const floor = Math.min(upTo, this.#durable);
    this.#log.compact(floor);
    this.#fileFloor = Math.max(this.#fileFloor, floor);
    await this.#writer.request({ type: 'compact', upTo: floor });
  }

  async scrub(): Promise<void> {
    const floor = this.#durable;
    this.#log.compact(floor);
    this.#fileFloor = Math.max(this.#fileFloor, floor);
    await this.#writer.request({ type: 'scrub', upTo: floor });
  }

  #forgetHistory(): void {
    const floor = this.#log.floor();
    const forgotten = this.#log.forgottenBytes();
    const step = this.#trouble?.code === 'NoSpace' ? scarceCompactionStep : compactionStep;
    if (
      floor - this.#fileFloor < step &&
      (floor === this.#fileFloor || forgotten - this.#fileForgotten < compactionBytes)
    )
      return;
    this.#fileFloor = floor;
    this.#fileForgotten = forgotten;
    // A compaction that fails is made up for by the next one.
    this.#writer.request({ type: 'compact', upTo: floor }).catch(() => {});
  }

  revision(): Revision {
    return this.#durable;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#leases.close();
    if (this.#gathering.length > 0 && this.#syncing === undefined) this.#syncing = this.#sync();
    await this.#syncing;
    this.#log.close();
    try {
      await this.#writer.request({ type: 'close', openMs: this.#openMs() });
    } finally {
      await this.#writer.stopped();
    }
  }
}

const closed = (): StorageError => new StorageError('Closed', 'the store is closed');

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength);
