// Mode `batch`: events wait in a buffer and go out together, so that no request waits for whoever keeps them.
import type { AuditEvent } from '../../api/audit/event.ts';
import type { Clock } from '../../base/clock.ts';
import type { AuditBackend, AuditFailures } from './backend.ts';

export interface BatchOptions {
  /** Events that wait at most; more are lost. */
  readonly bufferSize: number;
  readonly maxBatchSize: number;
  /** So long the first of a batch waits for others. */
  readonly maxBatchWaitMs: number;
  /** Batches a second, and how many at once after a rest; undefined: as they come. */
  readonly throttle?: { readonly qps: number; readonly burst: number } | undefined;
  /** Batches that are on their way together: a receiver that hangs holds no more than these. */
  readonly maxUnderWay: number;
}

type Timers = Pick<Clock, 'monotonic' | 'timer'>;

const secondMs = 1000;

export class BufferedBackend implements AuditBackend {
  readonly #delegate: AuditBackend;
  readonly #options: BatchOptions;
  readonly #clock: Timers;
  readonly #failures: AuditFailures;
  #waiting: AuditEvent[] = [];
  readonly #underWay = new Set<Promise<unknown>>();
  #cancelTimer: (() => void) | undefined;
  #tokens: number;
  #refilledAt: number;
  #closing = false;

  constructor(delegate: AuditBackend, options: BatchOptions, clock: Timers, failures: AuditFailures) {
    this.#delegate = delegate;
    this.#options = options;
    this.#clock = clock;
    this.#failures = failures;
    this.#tokens = options.throttle?.burst ?? 0;
    this.#refilledAt = clock.monotonic();
  }

  process(events: readonly AuditEvent[]): boolean {
    const { bufferSize, maxBatchSize, maxBatchWaitMs } = this.#options;
    const room = this.#closing ? 0 : bufferSize - this.#waiting.length;
    this.#waiting.push(...events.slice(0, room));
    if (events.length > room) {
      const why = this.#closing ? 'audit backend shut down' : 'audit buffer queue blocked';
      this.#failures.lost('buffered', new Error(why), events.length - room);
    }
    if (this.#waiting.length >= maxBatchSize) this.#send(false);
    else this.#cancelTimer ??= this.#clock.timer(maxBatchWaitMs, () => this.#timeIsUp(true));
    return true;
  }

  #timeIsUp(partial: boolean): void {
    this.#cancelTimer = undefined;
    this.#send(partial);
  }

  /** Sends what may go now; `partial`: a batch that is not full too. */
  #send(partial: boolean): void {
    const { maxBatchSize, maxUnderWay } = this.#options;
    while (this.#waiting.length >= (partial ? 1 : maxBatchSize)) {
      if (this.#underWay.size >= maxUnderWay) return;
      const waitMs = this.#closing ? 0 : this.#takeToken();
      if (waitMs > 0) {
        this.#cancelTimer ??= this.#clock.timer(waitMs, () => this.#timeIsUp(true));
        return;
      }
      this.#deliver(this.#waiting.splice(0, maxBatchSize));
    }
    if (this.#waiting.length === 0) {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    }
  }

  #deliver(batch: readonly AuditEvent[]): void {
    const kept = this.#delegate.process(batch);
    if (!(kept instanceof Promise)) return;
    const delivery = kept.finally(() => {
      this.#underWay.delete(delivery);
      this.#send(this.#closing || this.#cancelTimer === undefined);
    });
    this.#underWay.add(delivery);
  }

  /** Milliseconds until there is one; 0: it is taken. */
  #takeToken(): number {
    const { throttle } = this.#options;
    if (throttle === undefined) return 0;
    const now = this.#clock.monotonic();
    const gained = ((now - this.#refilledAt) / secondMs) * throttle.qps;
    this.#tokens = Math.min(throttle.burst, this.#tokens + gained);
    this.#refilledAt = now;
    if (this.#tokens < 1) return ((1 - this.#tokens) / throttle.qps) * secondMs;
    this.#tokens -= 1;
    return 0;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#send(true);
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
    await this.#delegate.close();
  }
}
