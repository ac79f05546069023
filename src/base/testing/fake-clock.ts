// A clock that stands still until it is told to go on.
import type { Clock } from '../clock.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class FakeClock implements Clock {
  #now: number;
  #set = 0;
  readonly #timers = new Set<Timer>();

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
    const timer = { at: this.#now + ms, run };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason as Error);
        return;
      }
      const cancel = this.timer(ms, resolve);
      signal?.addEventListener('abort', () => {
        cancel();
        reject(signal.reason as Error);
      });
    });
  }

  /** Somebody sets the time of day forward, or back; no time passes. */
  setBy(ms: number): void {
    this.#set += ms;
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Goes on by `ms`; timers that are due run in order, each at its time. */
  advance(ms: number): void {
    const until = this.#now + ms;
    for (;;) {
      const due = [...this.#timers].filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#timers.delete(due);
      this.#now = due.at;
      due.run();
    }
    this.#now = until;
  }
}
