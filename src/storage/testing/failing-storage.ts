// A driver whose watches break off, whose answers are lost and which is away for a while, as one over a bad network.
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
  StorageWatch,
  WatchEnd,
  Written,
} from '../storage.ts';
import { StorageError } from '../storage-error.ts';

const brokenOff: WatchEnd = { reason: 'failed', error: new Error('the connection to the store broke off') };

export class FailingStorage implements Storage {
  readonly #inner: Storage;
  readonly #batchesOfAWatch: number;
  readonly #watches = new Set<(why: WatchEnd) => void>();
  #next: { readonly of: 'stored' | 'not stored'; readonly prefix: Key } | undefined;
  #away = false;

  /** A watch breaks off after so many batches. */
  constructor(inner: Storage, batchesOfAWatch: number = Number.POSITIVE_INFINITY) {
    this.#inner = inner;
    this.#batchesOfAWatch = batchesOfAWatch;
  }

  /** Of the next write under `prefix` nobody hears whether it was stored. */
  loseAnswer(of: 'stored' | 'not stored', prefix: Key = ''): void {
    this.#next = { of, prefix };
  }

  /** All watches break off, and nothing can be asked, until it is back. */
  goAway(): void {
    this.#away = true;
    for (const end of this.#watches) end(brokenOff);
  }

  comeBack(): void {
    this.#away = false;
  }

  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch {
    const { promise: ended, resolve } = Promise.withResolvers<WatchEnd>();
    let left = this.#batchesOfAWatch;
    let inner: StorageWatch | undefined;
    const end = (why: WatchEnd): void => {
      left = 0;
      this.#watches.delete(end);
      inner?.close();
      resolve(why);
    };
    this.#watches.add(end);
    inner = this.#inner.watch(prefix, from, (events, revision) => {
      if (left === 0) return;
      left--;
      onEvents(events, revision);
      if (left === 0) end(brokenOff);
    });
    if (this.#away || left === 0) end(brokenOff);
    void inner.ended.then(end);
    return { ended, close: () => end({ reason: 'closed' }) };
  }

  async #written<T>(key: Key, write: () => Promise<T>): Promise<T> {
    const lost = this.#next !== undefined && key.startsWith(this.#next.prefix) ? this.#next.of : undefined;
    if (lost !== undefined) this.#next = undefined;
    if (this.#away || lost === 'not stored') throw noAnswer();
    const result = await write();
    if (lost === 'stored') throw noAnswer();
    return result;
  }

  async #read<T>(read: () => T): Promise<Awaited<T>> {
    if (this.#away) throw noAnswer();
    return await read();
  }

  get(key: Key): Promise<Entry | undefined> {
    return this.#read(() => this.#inner.get(key));
  }
  list(prefix: Key, options?: ListOptions): Promise<ListResult> {
    return this.#read(() => this.#inner.list(prefix, options));
  }
  create(key: Key, draft: Draft): Promise<Written | KeyExists> {
    return this.#written(key, () => this.#inner.create(key, draft));
  }
  update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    return this.#written(key, () => this.#inner.update(key, draft, expected));
  }
  delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    return this.#written(key, () => this.#inner.delete(key, last, expected));
  }
  grant(ttlMs: number): Promise<LeaseId> {
    return this.#read(() => this.#inner.grant(ttlMs));
  }
  timeToLive(lease: LeaseId): Promise<number | undefined> {
    return this.#read(() => this.#inner.timeToLive(lease));
  }
  compact(upTo: Revision): Promise<void> {
    return this.#read(() => this.#inner.compact(upTo));
  }
  revision(): Promise<Revision> {
    return this.#read(() => this.#inner.revision());
  }
  close(): Promise<void> {
    return this.#inner.close();
  }
}

const noAnswer = (): StorageError => new StorageError('Unknown', 'the store does not answer');
