// Follows a store from its first list on: a watch that ends is begun anew where it was, and where that is forgotten, with a list.
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { listWhole } from '../list-whole.ts';
import type { Entry, Key, OnEvents, Revision, Storage, StorageEvent, WatchEnd } from '../storage.ts';

export interface FeedTarget {
  readonly apply: OnEvents;
  /** The whole state at `revision`; of what happened since the last event nothing is known. */
  replace(entries: readonly Entry[], revision: Revision): void;
}

export interface FirstState {
  readonly entries: readonly Entry[];
  readonly revision: Revision;
  /** What the store remembers of the time before, after `floor`. */
  readonly history: readonly StorageEvent[];
  readonly floor: Revision;
}

/** A store that can't be read is asked again, less and less often. */
const pauses: Backoff = { firstMs: 50, longestMs: 5_000 };

export class StoreFeed {
  readonly #storage: Storage;
  readonly #clock: Clock;
  readonly #prefix: Key;
  readonly #onTrouble: (why: WatchEnd) => void;
  readonly #closing = new AbortController();
  #stopWatch: () => void = () => {};

  constructor(storage: Storage, clock: Clock, prefix: Key, onTrouble: (why: WatchEnd) => void) {
    this.#storage = storage;
    this.#clock = clock;
    this.#prefix = prefix;
    this.#onTrouble = onTrouble;
  }

  async first(): Promise<FirstState> {
    const { entries, revision } = await listWhole(this.#storage, this.#prefix);
    // From as far back as the store remembers, so that watches survive a restart of the server.
    let floor = 0;
    let told = await this.#toldUpTo(revision, floor);
    if (!Array.isArray(told) && told.reason === 'compacted') {
      floor = Math.min(told.compactedTo, revision);
      told = await this.#toldUpTo(revision, floor);
    }
    if (!Array.isArray(told)) return { entries, revision, history: [], floor: revision };
    return { entries, revision, history: told, floor };
  }

  /** The events after `from`, or why they can't be told. */
  async #toldUpTo(upTo: Revision, from: Revision): Promise<StorageEvent[] | WatchEnd> {
    const history: StorageEvent[] = [];
    const all = Promise.withResolvers<StorageEvent[]>();
    const watch = this.#storage.watch(this.#prefix, from, (events, revision) => {
      for (const event of events) if (event.revision <= upTo) history.push(event);
      if (revision >= upTo) all.resolve(history);
    });
    const told = await Promise.race([all.promise, watch.ended]);
    watch.close();
    return told;
  }

  /** Tells all that happens after `from`, until it is closed or the store is. */
  follow(from: Revision, target: FeedTarget): void {
    void this.#follow(from, target);
  }

  async #follow(from: Revision, target: FeedTarget): Promise<void> {
    let at = from;
    let failures = 0;
    let whole = true;
    while (!this.#closing.signal.aborted) {
      const watch = this.#storage.watch(this.#prefix, at, (events, revision) => {
        // What throws half-way leaves a state that only a list makes good.
        whole = false;
        target.apply(events, revision);
        whole = true;
        at = revision;
        failures = 0;
      });
      this.#stopWatch = watch.close;
      const end = await watch.ended;
      if (end.reason === 'closed') return;
      this.#onTrouble(end);
      if (end.reason === 'compacted' || !whole) {
        at = await this.#listAnew(at, target);
        whole = true;
      } else await this.#pause(failures++);
    }
  }

  async #listAnew(at: Revision, target: FeedTarget): Promise<Revision> {
    for (let failures = 0; !this.#closing.signal.aborted; failures++) {
      try {
        const { entries, revision } = await listWhole(this.#storage, this.#prefix);
        if (this.#closing.signal.aborted) break;
        target.replace(entries, revision);
        return revision;
      } catch (error) {
        this.#onTrouble({ reason: 'failed', error: error as Error });
        await this.#pause(failures);
      }
    }
    return at;
  }

  async #pause(failures: number): Promise<void> {
    const ms = backoffMs(pauses, failures + 1);
    // Closing ends the pause; the loop then sees it.
    await this.#clock.sleep(ms, this.#closing.signal).catch(() => {});
  }

  close(): void {
    this.#closing.abort();
    this.#stopWatch();
  }
}
