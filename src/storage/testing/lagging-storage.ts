// A driver whose answers come late and whose watches are behind what it acknowledges, as one over a network.
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
  WatchEnd,
  Written,
} from '../storage.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Behind {
  readonly batches: (readonly [events: readonly StorageEvent[], revision: Revision])[];
  readonly tell: () => void;
  readonly end: (why: WatchEnd) => void;
}

export class LaggingStorage implements Storage {
  readonly #inner: Storage;
  readonly #mostBehind: number;
  readonly #behind = new Set<Behind>();
  #held = false;

  /** A watch that is more batches behind than `mostBehind` is ended. */
  constructor(inner: Storage, mostBehind = 1_000) {
    this.#inner = inner;
    this.#mostBehind = mostBehind;
  }

  /** From now on watches are told nothing. */
  hold(): void {
    this.#held = true;
  }

  /** They are told what they missed, and what comes then. */
  release(): void {
    this.#held = false;
    for (const { tell } of this.#behind) tell();
  }

  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch {
    const { promise: ended, resolve } = Promise.withResolvers<WatchEnd>();
    let open = true;
    const end = (why: WatchEnd): void => {
      open = false;
      this.#behind.delete(behind);
      inner?.close();
      resolve(why);
    };
    const tell = (): void => {
      while (open && !this.#held) {
        const next = behind.batches.shift();
        if (next === undefined) return;
        onEvents(...next);
      }
    };
    const behind: Behind = { batches: [], tell, end };
    let inner: StorageWatch | undefined;
    this.#behind.add(behind);
    inner = this.#inner.watch(prefix, from, (events, revision) => {
      behind.batches.push([events, revision]);
      if (behind.batches.length > this.#mostBehind) end({ reason: 'lagging' });
      // Two turns: what was written is acknowledged before.
      else setImmediate(() => setImmediate(() => this.#tellSafely(behind)));
    });
    void inner.ended.then((why) => setImmediate(() => end(why)));
    return { ended, close: () => end({ reason: 'closed' }) };
  }

  #tellSafely({ tell, end }: Behind): void {
    try {
      tell();
    } catch (error) {
      end({ reason: 'failed', error: error as Error });
    }
  }

  async #late<T>(answer: Promise<T>): Promise<T> {
    const result = await answer;
    await turn();
    return result;
  }

  get(key: Key): Promise<Entry | undefined> {
    return this.#late(this.#inner.get(key));
  }
  list(prefix: Key, options?: ListOptions): Promise<ListResult> {
    return this.#late(this.#inner.list(prefix, options));
  }
  create(key: Key, draft: Draft): Promise<Written | KeyExists> {
    return this.#late(this.#inner.create(key, draft));
  }
  update(key: Key, draft: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    return this.#late(this.#inner.update(key, draft, expected));
  }
  delete(key: Key, last: Draft, expected: Revision): Promise<Written | RevisionConflict> {
    return this.#late(this.#inner.delete(key, last, expected));
  }
  grant(ttlMs: number): Promise<LeaseId> {
    return this.#late(this.#inner.grant(ttlMs));
  }
  timeToLive(lease: LeaseId): Promise<number | undefined> {
    return this.#late(this.#inner.timeToLive(lease));
  }
  compact(upTo: Revision): Promise<void> {
    return this.#late(this.#inner.compact(upTo));
  }
  revision(): Promise<Revision> {
    return this.#late(Promise.resolve(this.#inner.revision()));
  }
  close(): Promise<void> {
    return this.#inner.close();
  }
}
