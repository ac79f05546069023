// How long to wait before the next try: doubling, with jitter, forgotten after a quiet time.
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';

export interface BackoffLimits {
  readonly firstMs: number;
  readonly maxMs: number;
  /** After this long without a failure the next delay is the first again. */
  readonly resetAfterMs: number;
}

/** client-go's reflector: 800 ms to 30 s, reset after two minutes. */
export const reflectorBackoff: BackoffLimits = { firstMs: 800, maxMs: 30_000, resetAfterMs: 120_000 };

/** Of a server that does not listen yet: to be asked again costs it nothing, and it may be about to start. */
export const refusedBackoff: BackoffLimits = { ...reflectorBackoff, firstMs: 25 };

export class Backoff {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #limits: BackoffLimits;
  #nextMs: number;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: Random, limits: BackoffLimits) {
    this.#clock = clock;
    this.#random = random;
    this.#limits = limits;
    this.#nextMs = limits.firstMs;
  }

  delayMs(): number {
    const now = this.#clock.monotonic();
    if (now - this.#lastAt > this.#limits.resetAfterMs) this.#nextMs = this.#limits.firstMs;
    this.#lastAt = now;
    const base = this.#nextMs;
    this.#nextMs = Math.min(base * 2, this.#limits.maxMs);
    return base * (1 + this.#random.fraction());
  }

  reset(): void {
    this.#nextMs = this.#limits.firstMs;
  }
}
