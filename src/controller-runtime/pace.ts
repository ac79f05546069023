// How many objects controllers may make for one namespace at a time: a bucket for each, refilled as time goes by.
import type { Clock } from '../base/clock.ts';

export interface PaceOptions {
  /** What a namespace that was quiet may have at once. */
  readonly burst: number;
  readonly perSecond: number;
}
/** Upstream's controllers make 20 a second each, for all namespaces together. */
const defaultPace: PaceOptions = { burst: 1_000, perSecond: 100 };

interface Bucket {
  tokens: number;
  at: number;
}

/** Namespaces that were quiet long enough to be full again are forgotten when there are so many. */
const maxRemembered = 1_000;

export class Pace {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #options: PaceOptions;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Pick<Clock, 'monotonic'>, options: PaceOptions = defaultPace) {
    this.#clock = clock;
    this.#options = options;
  }

  /** How many of `wanted` may be made now; they count as made. */
  take(namespace: string, wanted: number): number {
    const bucket = this.#bucket(namespace);
    const taken = Math.min(wanted, Math.floor(bucket.tokens));
    bucket.tokens -= taken;
    return taken;
  }

  /** These were not made after all. */
  giveBack(namespace: string, count: number): void {
    const bucket = this.#bucket(namespace);
    bucket.tokens = Math.min(this.#options.burst, bucket.tokens + count);
  }

  /** Whether more than a few were made a moment ago. */
  isBusy(namespace: string): boolean {
    return this.#bucket(namespace).tokens < this.#options.burst / 2;
  }

  #bucket(namespace: string): Bucket {
    const { burst, perSecond } = this.#options;
    const now = this.#clock.monotonic();
    let bucket = this.#buckets.get(namespace);
    if (bucket === undefined) {
      if (this.#buckets.size >= maxRemembered) this.#forgetQuiet(now);
      bucket = { tokens: burst, at: now };
      this.#buckets.set(namespace, bucket);
    }
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    return bucket;
  }

  #forgetQuiet(now: number): void {
    const { burst, perSecond } = this.#options;
    for (const [namespace, { tokens, at }] of this.#buckets)
      if (tokens + ((now - at) / 1000) * perSecond >= burst) this.#buckets.delete(namespace);
  }
}
