// The recent events of one resource, which watchers read at their own pace.
import type { Clock } from '../../base/clock.ts';
import type { Revision } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import type { CacheEvent } from './resource-cache.ts';

/** As upstream's watch cache. */
const minCapacity = 100;
const maxCapacity = 102_400;
const freshMs = 75_000;

export class EventRing {
  readonly #clock: Clock;
  #slots: (CacheEvent | undefined)[] = new Array<CacheEvent | undefined>(minCapacity);
  #times: Float64Array = new Float64Array(minCapacity);
  /** Sequence numbers of the oldest kept event and of the next one to come. */
  #first = 0;
  #next = 0;
  #floor: Revision;

  constructor(clock: Clock, floor: Revision) {
    this.#clock = clock;
    this.#floor = floor;
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
    if (this.#next - this.#first === this.#slots.length) this.#makeRoom(now);
    const slot = this.#next % this.#slots.length;
    this.#slots[slot] = event;
    this.#times[slot] = now;
    this.#next++;
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

  /** Full: twice as large while even the oldest event is fresh, else the oldest goes. */
  #makeRoom(now: number): void {
    const oldest = this.#first % this.#slots.length;
    if (now - this.#times[oldest]! < freshMs && this.#slots.length < maxCapacity)
      this.#resize(Math.min(this.#slots.length * 2, maxCapacity));
    else {
      const quarter = this.#first + (this.#slots.length >> 2);
      const idle = now - this.#times[quarter % this.#slots.length]! >= freshMs;
      this.#drop();
      // Upstream halves when a quarter would have been enough.
      if (idle && this.#slots.length > minCapacity) {
        while (this.#next - this.#first > this.#slots.length >> 1) this.#drop();
        this.#resize(Math.max(this.#slots.length >> 1, minCapacity, this.#next - this.#first + 1));
      }
    }
  }

  #drop(): void {
    const slot = this.#first % this.#slots.length;
    this.#floor = this.#slots[slot]!.revision;
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
