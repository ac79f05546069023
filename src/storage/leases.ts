// Leases of a driver that holds its state in memory: keys that it deletes by itself when a time has passed.
import type { Clock } from '../base/clock.ts';
import type { Key, LeaseId } from './storage.ts';
import { StorageError } from './storage-error.ts';

/** Deletes those of `keys` whose last write named the lease. */
type Expire = (lease: LeaseId, keys: ReadonlySet<Key>) => Promise<void>;

interface Lease {
  /** By the monotonic clock: whoever sets the time of day ends none. */
  until: number;
  /** Those that named it when they were written; some may have been written again since. */
  readonly keys: Set<Key>;
}

/** What could not be deleted is tried again. */
const retryMs = 10_000;

export class Leases {
  readonly #clock: Clock;
  readonly #expire: Expire;
  readonly #leases = new Map<LeaseId, Lease>();
  #nextId: LeaseId = 1;
  /** When the timer runs. */
  #wakeAt = Number.POSITIVE_INFINITY;
  #cancel: () => void = () => {};
  #expiring = false;
  #closed = false;

  constructor(clock: Clock, expire: Expire) {
    this.#clock = clock;
    this.#expire = expire;
  }

  grant(ttlMs: number): LeaseId {
    const id = this.#nextId++;
    const until = this.#clock.monotonic() + ttlMs;
    this.#leases.set(id, { until, keys: new Set() });
    if (until < this.#wakeAt) this.#schedule();
    return id;
  }

  /** Milliseconds; undefined when it is over. */
  timeToLive(id: LeaseId): number | undefined {
    const left = Math.ceil((this.#leases.get(id)?.until ?? 0) - this.#clock.monotonic());
    return left > 0 ? left : undefined;
  }

  /** Throws StorageError NoLease. */
  attach(id: LeaseId, key: Key): void {
    const lease = this.#leases.get(id);
    if (lease === undefined || lease.until <= this.#clock.monotonic())
      throw new StorageError('NoLease', `lease ${id} is over`);
    lease.keys.add(key);
  }

  #next(): [LeaseId, Lease] | undefined {
    let next: [LeaseId, Lease] | undefined;
    for (const one of this.#leases) if (next === undefined || one[1].until < next[1].until) next = one;
    return next;
  }

  #schedule(): void {
    if (this.#expiring || this.#closed) return;
    this.#cancel();
    this.#wakeAt = this.#next()?.[1].until ?? Number.POSITIVE_INFINITY;
    if (this.#wakeAt === Number.POSITIVE_INFINITY) return;
    const wait = Math.max(0, this.#wakeAt - this.#clock.monotonic());
    this.#cancel = this.#clock.timer(wait, () => void this.#expireDue());
  }

  /** One lease after the other: their keys are not decided on all at once. */
  async #expireDue(): Promise<void> {
    this.#expiring = true;
    for (let next = this.#next(); next !== undefined && !this.#closed; next = this.#next()) {
      const [id, lease] = next;
      if (lease.until > this.#clock.monotonic()) break;
      try {
        if (lease.keys.size > 0) await this.#expire(id, lease.keys);
        this.#leases.delete(id);
      } catch {
        lease.until = this.#clock.monotonic() + retryMs;
      }
    }
    this.#expiring = false;
    this.#schedule();
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }
}
