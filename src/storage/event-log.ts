// The recent past of a store: events in order, handed to watchers from any revision that is still kept.
import type { Clock } from '../base/clock.ts';
import type { Entry, Key, OnEvents, Revision, StorageEvent, StorageWatch, WatchEnd } from './storage.ts';
import { CompactedError } from './storage.ts';

export interface HistoryLimits {
  /** Events younger than this are kept. */
  readonly freshMs: number;
  /** Older ones are kept up to this number. */
  readonly minEvents: number;
  /** Never more than this, fresh or not. */
  readonly maxEvents: number;
  /** Nor more than these, but for the last event: one object that is written again and again must not fill the memory. */
  readonly maxBytes: number;
}

/** As upstream's watch cache: 75 s, 102,400 events. The bytes are those of the caches' history. */
export const defaultHistoryLimits: HistoryLimits = {
  freshMs: 75_000,
  minEvents: 1_000,
  maxEvents: 102_400,
  maxBytes: 64 << 20,
};

/** Forgotten values that may still lie in the list. */
const releasedBytes = 16 << 20;

interface Watcher {
  readonly prefix: Key;
  readonly onEvents: OnEvents;
  readonly end: (why: WatchEnd) => void;
  seen: Revision;
}

export class EventLog {
  readonly #clock: Clock;
  readonly #limits: HistoryLimits;
  #events: StorageEvent[] = [];
  #times: number[] = [];
  /** Index of the oldest kept event: the arrays are shifted only now and then. */
  #start = 0;
  #floor: Revision;
  /** Of the last event, or of the state when there was none since. */
  #newest: Revision;
  #bytes = 0;
  #forgotten = 0;
  /** Of these, what the list holds no more. */
  #released = 0;
  readonly #watchers = new Set<Watcher>();
  readonly #queue: (() => void)[] = [];
  #delivering = false;
  #closed = false;
  readonly #onWatcherError: (error: unknown) => void;

  /** `onWatcherError`: a watcher threw while it was told of a write. It is told nothing more; the others are. */
  constructor(
    clock: Clock,
    limits: HistoryLimits,
    floor: Revision,
    onWatcherError: (error: unknown) => void,
    history: readonly StorageEvent[] = [],
  ) {
    this.#newest = floor;
    this.#clock = clock;
    this.#onWatcherError = onWatcherError;
    this.#limits = limits;
    this.#floor = floor;
    const now = clock.monotonic();
    for (const event of history) this.#add(event, now);
  }

  #add(event: StorageEvent, now: number): void {
    this.#events.push(event);
    this.#times.push(now);
    this.#newest = event.revision;
    this.#bytes += event.value.length;
  }

  /** Bytes of all values that were forgotten so far. */
  forgottenBytes(): number {
    return this.#forgotten;
  }

  /** Events up to and including this one are forgotten. */
  floor(): Revision {
    return this.#floor;
  }

  /** One commit's events. A watcher that writes while it is called gets that write's events afterwards, in order. */
  publish(events: readonly StorageEvent[]): void {
    const now = this.#clock.monotonic();
    for (const event of events) this.#add(event, now);
    this.#trim(now);
    this.#inTurn(() => {
      // One that ends while others are told is not told any more.
      const upTo = events.at(-1)!.revision;
      for (const watcher of [...this.#watchers])
        if (this.#watchers.has(watcher) && watcher.seen < upTo) this.#tell(watcher, events, upTo);
    });
  }

  /** A write is stored whatever its watchers do. */
  #tell(watcher: Watcher, events: readonly StorageEvent[], upTo: Revision): void {
    try {
      deliver(watcher, events, upTo);
    } catch (error) {
      this.#end(watcher, {
        reason: 'failed',
        error: error instanceof Error ? error : new Error(String(error)),
      });
      this.#onWatcherError(error);
    }
  }

  #end(watcher: Watcher, why: WatchEnd): void {
    this.#watchers.delete(watcher);
    watcher.end(why);
  }

  watch(prefix: Key, from: Revision, onEvents: OnEvents): StorageWatch {
    const { promise: ended, resolve: end } = Promise.withResolvers<WatchEnd>();
    const watcher: Watcher = { prefix, onEvents, end, seen: from };
    const watch = { ended, close: () => this.#end(watcher, { reason: 'closed' }) };
    if (this.#closed) end({ reason: 'closed' });
    else if (from < this.#floor) end({ reason: 'compacted', compactedTo: this.#floor });
    else {
      const past = this.#events.slice(firstAfter(this.#events, this.#start, from));
      const upTo = Math.max(from, this.#newest);
      this.#watchers.add(watcher);
      // At once, even inside another delivery: what comes later is told from what was told by `seen`.
      if (this.#delivering) this.#tell(watcher, past, upTo);
      else this.#inTurn(() => this.#tell(watcher, past, upTo));
    }
    return watch;
  }

  /** Nobody is told anything more. */
  close(): void {
    this.#closed = true;
    for (const watcher of this.#watchers) this.#end(watcher, { reason: 'closed' });
  }

  /** Of each key that was written after `revision`, what it was then. Throws CompactedError. */
  statesAt(revision: Revision): Map<Key, Entry | undefined> {
    if (revision < this.#floor) throw new CompactedError(revision, this.#floor);
    if (revision > this.#newest)
      throw new RangeError(`revision ${revision} is not there yet, the newest is ${this.#newest}`);
    const states = new Map<Key, Entry | undefined>();
    const first = firstAfter(this.#events, this.#start, revision);
    for (let i = this.#events.length - 1; i >= first; i--)
      states.set(this.#events[i]!.key, this.#events[i]!.previous);
    return states;
  }

  /** One delivery after the other: a watcher that writes while it is called does not get ahead of itself. */
  #inTurn(delivery: () => void): void {
    this.#queue.push(delivery);
    if (this.#delivering) return;
    this.#delivering = true;
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) next();
    } finally {
      this.#delivering = false;
    }
  }

  compact(upTo: Revision): void {
    if (upTo <= this.#floor) return;
    const end = firstAfter(this.#events, this.#start, upTo);
    while (this.#start < end) this.#forget();
    this.#floor = upTo;
    this.#shift();
  }

  #trim(now: number): void {
    const before = this.#start;
    while (this.#isTooMuch(now)) this.#floor = this.#forget();
    if (this.#start !== before) this.#shift();
  }

  #isTooMuch(now: number): boolean {
    const { freshMs, minEvents, maxEvents, maxBytes } = this.#limits;
    const count = this.#events.length - this.#start;
    return (
      count > maxEvents ||
      (this.#bytes > maxBytes && count > 1) ||
      (count > minEvents && this.#times[this.#start]! < now - freshMs)
    );
  }

  #forget(): Revision {
    const { revision, value } = this.#events[this.#start++]!;
    this.#bytes -= value.length;
    this.#forgotten += value.length;
    return revision;
  }

  /** What was forgotten is let go at the latest when it is half of the list, or much. */
  #shift(): void {
    const held = this.#forgotten - this.#released;
    if (held < releasedBytes && (this.#start < 1_024 || this.#start * 2 < this.#events.length)) return;
    this.#released = this.#forgotten;
    this.#events = this.#events.slice(this.#start);
    this.#times = this.#times.slice(this.#start);
    this.#start = 0;
  }
}

/** `seen` keeps each event to once: a watch that starts inside a delivery has read the log already. */
function deliver(watcher: Watcher, events: readonly StorageEvent[], upTo: Revision): void {
  const { seen, prefix } = watcher;
  const mine = events.filter((event) => event.revision > seen && event.key.startsWith(prefix));
  watcher.seen = upTo;
  watcher.onEvents(mine, upTo);
}

/** Index of the first event with revision > `revision`, by halving. */
function firstAfter(events: readonly StorageEvent[], start: number, revision: Revision): number {
  let low = start;
  let high = events.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (events[middle]!.revision <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
