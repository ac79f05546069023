// The recent events of one resource, which watchers read at their own pace.
import type { Clock } from '../../base/clock.ts';
import type { Revision } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import { HistoryBudget, type HistoryHolder } from './history-budget.ts';
import type { CachedObject, CacheEvent } from './resource-cache.ts';

/** As upstream's watch cache. */
const minCapacity = 100;
const maxCapacity = 102_400;
const freshMs = 75_000;
/** Stale events beyond this number go: a burst must not keep its memory for good. */
const maxStale = 1_000;

/** Frames are made when a watcher first asks for one. */
export class RingEvent implements CacheEvent {
  readonly type: CacheEvent['type'];
  readonly object: CachedObject;
  readonly previous: CachedObject | undefined;
  readonly revision: Revision;
  #frames: Map<string, Buffer> | undefined;
  #written: object | undefined;

  constructor(
    type: CacheEvent['type'],
    object: CachedObject,
    previous: CachedObject | undefined,
    written?: object,
  ) {
    this.#written = written;
    this.type = type;
    this.object = object;
    this.previous = previous;
    this.revision = object.revision;
  }

  get frames(): Map<string, Buffer> {
    this.#frames ??= new Map();
    return this.#frames;
  }

  /** What was written knows no revision yet. */
  takeObject(): object | undefined {
    const written = this.#written as { readonly metadata: object } | undefined;
    this.#written = undefined;
    if (written === undefined) return undefined;
    return { ...written, metadata: { ...written.metadata, resourceVersion: String(this.revision) } };
  }

  forgetFrames(): void {
    this.#frames = undefined;
  }
}

/** An event holds its object and, once a watcher asked for it, a frame of the same length. */
const bytesOf = (event: CacheEvent): number => 2 * event.object.value.length + 512;

export class EventRing implements HistoryHolder {
  readonly #clock: Clock;
  readonly #budget: HistoryBudget;
  #bytes = 0;
  #slots: (CacheEvent | undefined)[] = new Array<CacheEvent | undefined>(minCapacity);
  #times: Float64Array = new Float64Array(minCapacity);
  /** Sequence numbers of the oldest kept event and of the next one to come. */
  #first = 0;
  #next = 0;
  #floor: Revision;

  constructor(clock: Clock, floor: Revision, budget: HistoryBudget = new HistoryBudget()) {
    this.#clock = clock;
    this.#floor = floor;
    this.#budget = budget;
    budget.enter(this);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get first(): number {
    return this.#first;
  }
  get next(): number {
    return this.#next;
  }
  /** Events up to this revision are not here any more. */
  get floor(): Revision {
    return this.#floor;
  }

  push(event: CacheEvent): void {
    const now = this.#clock.monotonic();
    this.#makeRoom(now);
    const slot = this.#next % this.#slots.length;
    this.#slots[slot] = event;
    this.#times[slot] = now;
    this.#next++;
    this.#account(bytesOf(event));
    this.#budget.settle(this);
  }

  get events(): number {
    return this.#next - this.#first;
  }

  forget(): void {
    this.#drop();
  }

  /** Something is missing up to `revision`: a watcher that had read all of it has fallen behind, too. */
  forgetAll(revision: Revision): void {
    while (this.events > 0) this.#drop();
    this.#first = ++this.#next;
    this.#floor = revision;
  }

  #account(bytes: number): void {
    this.#bytes += bytes;
    this.#budget.changed(bytes);
  }

  at(sequence: number): CacheEvent {
    return this.#slots[sequence % this.#slots.length]!;
  }

  /** Sequence number of the first event after `revision`. */
  after(revision: Revision): number {
    if (revision < this.#floor) throw new CompactedError(revision, this.#floor);
    let low = this.#first;
    let high = this.#next;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.at(middle).revision <= revision) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #makeRoom(now: number): void {
    while (this.#next - this.#first > maxStale && this.#isStale(now)) this.#drop();
    const count = this.#next - this.#first;
    if (count === this.#slots.length) {
      if (count < maxCapacity && (count < maxStale || !this.#isStale(now)))
        this.#resize(Math.min(count * 2, maxCapacity));
      else this.#drop();
    } else if (count < this.#slots.length >> 2 && this.#slots.length > minCapacity) {
      this.#resize(this.#slots.length >> 1);
    }
  }

  #isStale(now: number): boolean {
    return now - this.#times[this.#first % this.#slots.length]! >= freshMs;
  }

  #drop(): void {
    const slot = this.#first % this.#slots.length;
    const event = this.#slots[slot]!;
    this.#floor = event.revision;
    this.#account(-bytesOf(event));
    this.#slots[slot] = undefined;
    this.#first++;
  }

  #resize(capacity: number): void {
    const slots = new Array<CacheEvent | undefined>(capacity);
    const times = new Float64Array(capacity);
    for (let sequence = this.#first; sequence < this.#next; sequence++) {
      slots[sequence % capacity] = this.#slots[sequence % this.#slots.length];
      times[sequence % capacity] = this.#times[sequence % this.#slots.length]!;
    }
    this.#slots = slots;
    this.#times = times;
  }
}
