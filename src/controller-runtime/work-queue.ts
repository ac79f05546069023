// Keys to work on: each once however often it was added, never twice at a time, failures later and later.
import { backoffMs } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { QueueMetrics } from './queue-metrics.ts';

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** How many keys are worked on at a time. */
  readonly concurrency: number;
  /** Must not throw. */
  process(key: string): Promise<void>;
  /** client-go's item exponential limiter: 5 ms to 1000 s. */
  readonly baseDelayMs?: number | undefined;
  readonly maxDelayMs?: number;
  readonly metrics: QueueMetrics;
}

interface Delayed {
  readonly at: number;
  readonly cancel: () => void;
}

export class WorkQueue {
  readonly #options: WorkQueueOptions;
  /** Since when, as all of these. */
  readonly #ready: Map<string, number> = new Map();
  readonly #processing: Map<string, number> = new Map();
  /** Added again while they were worked on. */
  readonly #dirty: Map<string, number> = new Map();
  readonly #delayed: Map<string, Delayed> = new Map();
  readonly #failures: Map<string, number> = new Map();
  #stopped = false;
  #idle: (() => void)[] = [];
  readonly #hide: () => void;

  constructor(options: WorkQueueOptions) {
    this.#options = options;
    this.#hide = options.metrics.show(this);
  }

  /** Keys that wait to be worked on now. */
  get depth(): number {
    return this.#ready.size + this.#dirty.size;
  }

  workingMs(): readonly number[] {
    const now = this.#options.clock.monotonic();
    return [...this.#processing.values()].map((since) => now - since);
  }

  add(key: string): void {
    if (this.#stopped) return;
    const waiting = this.#processing.has(key) ? this.#dirty : this.#ready;
    if (waiting.has(key)) return;
    waiting.set(key, this.#options.clock.monotonic());
    this.#options.metrics.added.inc();
    this.#pump();
  }

  /** The earliest of several wins. */
  addAfter(key: string, delayMs: number): void {
    if (this.#stopped) return;
    this.#options.metrics.retried.inc();
    if (delayMs <= 0) {
      this.add(key);
      return;
    }
    const at = this.#options.clock.monotonic() + delayMs;
    const waiting = this.#delayed.get(key);
    if (waiting !== undefined && waiting.at <= at) return;
    waiting?.cancel();
    const cancel = this.#options.clock.timer(delayMs, () => {
      this.#delayed.delete(key);
      this.add(key);
    });
    this.#delayed.set(key, { at, cancel });
  }

  /** Adds the key after a delay that doubles with each failure since `forget`. */
  addRateLimited(key: string): void {
    const failures = this.failuresOf(key) + 1;
    this.#failures.set(key, failures);
    const { baseDelayMs = 5, maxDelayMs = 1_000_000 } = this.#options;
    this.addAfter(key, backoffMs({ firstMs: baseDelayMs, longestMs: maxDelayMs }, failures));
  }

  forget(key: string): void {
    this.#failures.delete(key);
  }
  failuresOf(key: string): number {
    return this.#failures.get(key) ?? 0;
  }

  /** Takes nothing more and resolves when what is being worked on is done. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { cancel } of this.#delayed.values()) cancel();
    this.#delayed.clear();
    this.#ready.clear();
    this.#dirty.clear();
    this.#hide();
    if (this.#processing.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #pump(): void {
    const { clock, concurrency, metrics } = this.#options;
    for (const [key, since] of this.#ready) {
      if (this.#processing.size >= concurrency) return;
      const now = clock.monotonic();
      metrics.waited.observe((now - since) / 1000);
      this.#ready.delete(key);
      this.#processing.set(key, now);
      void this.#work(key);
    }
  }

  async #work(key: string): Promise<void> {
    // Not inside the caller's stack: an informer hands out an event to all before anyone acts on it.
    await Promise.resolve();
    try {
      if (!this.#stopped) await this.#options.process(key);
    } finally {
      this.#done(key);
    }
  }

  #done(key: string): void {
    const { clock, metrics } = this.#options;
    metrics.worked.observe((clock.monotonic() - this.#processing.get(key)!) / 1000);
    this.#processing.delete(key);
    const since = this.#dirty.get(key);
    this.#dirty.delete(key);
    if (since !== undefined && !this.#stopped) this.#ready.set(key, since);
    if (this.#stopped && this.#processing.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    this.#pump();
  }
}
