// Leases of objects that live for a time: those that are written at about the same time share one, as upstream's lease manager does.
import type { Clock } from '../../base/clock.ts';
import type { LeaseId, Storage } from '../storage.ts';

/** Upstream's: a lease may end that much later than is asked for, … */
const longestExtraMs = 60_000;
const extraPart = 0.05;
/** … and its end deletes no more objects at once than these. */
const mostObjects = 1_000;

interface Shared {
  readonly until: number;
  objects: number;
  id: LeaseId | Promise<LeaseId>;
}

export class SharedLeases {
  readonly #storage: Pick<Storage, 'grant'>;
  readonly #clock: Clock;
  #last: Shared | undefined;

  constructor(storage: Pick<Storage, 'grant'>, clock: Clock) {
    this.#storage = storage;
    this.#clock = clock;
  }

  /** A lease for one object that ends in `ttlMs`, or a little later. */
  get(ttlMs: number): LeaseId | Promise<LeaseId> {
    const end = this.#clock.monotonic() + ttlMs;
    const extra = Math.min(ttlMs * extraPart, longestExtraMs);
    const last = this.#last;
    const fits = last !== undefined && last.until >= end && last.until <= end + extra;
    if (!fits || last.objects >= mostObjects) return this.#grant(end + extra, ttlMs + extra);
    last.objects++;
    return last.id;
  }

  #grant(until: number, ttlMs: number): Promise<LeaseId> {
    const id = this.#storage.grant(ttlMs);
    const shared: Shared = { until, objects: 1, id };
    this.#last = shared;
    id.then(
      (granted) => {
        shared.id = granted;
      },
      () => {
        if (this.#last === shared) this.#last = undefined;
      },
    );
    return id;
  }
}
