// What a plugin would not open is looked at again by itself: one may say that it is well, and yet refuse its keys for a while.
import { backoffMs } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';

const backoff = { firstMs: 1_000, longestMs: 10_000 };
const longestMs = 60_000;
/** So many times as long as a look took nobody is asked: a plugin that hangs takes its time for each key. */
const rest = 9;

export class LookingAgain {
  readonly #clock: Pick<Clock, 'monotonic' | 'timer'>;
  /** Answers how much is still closed; never rejects. */
  readonly #look: () => Promise<number>;
  #cancel: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #left = 0;
  #failures = 0;
  #stopped = false;

  constructor(clock: Pick<Clock, 'monotonic' | 'timer'>, look: () => Promise<number>) {
    this.#clock = clock;
    this.#look = look;
  }

  /** Something could not be opened. */
  soon(): void {
    if (this.#running === undefined && this.#cancel === undefined) this.#in(backoff.firstMs);
  }

  /** Resolves when it has looked. */
  now(): Promise<void> {
    this.#running ??= this.#once().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #in(ms: number): void {
    if (this.#stopped) return;
    this.#cancel = this.#clock.timer(ms, () => void this.now());
  }

  async #once(): Promise<void> {
    this.#cancel?.();
    this.#cancel = undefined;
    const started = this.#clock.monotonic();
    const left = await this.#look();
    const took = this.#clock.monotonic() - started;
    const isMoving = left < this.#left;
    this.#failures = isMoving ? 1 : this.#failures + 1;
    this.#left = left;
    if (left === 0) this.#failures = 0;
    else
      this.#in(Math.min(longestMs, Math.max(backoffMs(backoff, this.#failures), isMoving ? 0 : rest * took)));
  }
}
