// A clock that stands still until it is told to go on.
import type { Clock } from '../clock.ts';
import { Heap } from '../heap.ts';

interface Timer {
  readonly at: number;
  /** Those of one moment run in the order in which they were made. */
  readonly serial: number;
  run: (() => void) | undefined;
}

export class FakeClock implements Clock {
  #now: number;
  #set = 0;
  #serial = 0;
  #pending = 0;
  readonly #timers = new Heap<Timer>((a, b) => a.at < b.at || (a.at === b.at && a.serial < b.serial));

  constructor(start: number = Date.UTC(2026, 0, 1)) {
    this.#now = start;
  }

  now(): number {
    return this.#now + this.#set;
  }
  monotonic(): number {
    return this.#now;
  }
  timer(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#now + ms, serial: this.#serial++, run };
    this.#timers.push(timer);
    this.#pending++;
    return () => {
      if (timer.run === undefined) return;
      timer.run = undefined;
      this.#pending--;
    };
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const stop = (): void => {
        cancel();
        reject(signal!.reason as Error);
      };
      const cancel = this.timer(ms, () => {
        signal?.removeEventListener('abort', stop);
        resolve();
      });
      signal?.addEventListener('abort', stop, { once: true });
    });
  }

  /** Somebody sets the time of day forward, or back; no time passes. */
  setBy(ms: number): void {
    this.#set += ms;
  }

  get pending(): number {
    return this.#pending;
  }

  /** When the next timer is due, by `monotonic`. */
  get nextAt(): number | undefined {
    while (this.#timers.size > 0 && this.#timers.peek()!.run === undefined) this.#timers.pop();
    return this.#timers.peek()?.at;
  }

  /** Goes on by `ms`; timers that are due run in order, each at its time. */
  advance(ms: number): void {
    const until = this.#now + ms;
    while ((this.nextAt ?? Number.POSITIVE_INFINITY) <= until) this.runNext();
    this.#now = until;
  }

  /** Goes on to the next timer and runs that one alone. */
  runNext(): void {
    if (this.nextAt === undefined) return;
    const due = this.#timers.pop()!;
    const { run } = due;
    due.run = undefined;
    this.#pending--;
    this.#now = Math.max(this.#now, due.at);
    run?.();
  }
}
