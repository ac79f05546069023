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
  /** What the objects of events weigh that wait or are on their way; beyond it they are lost, too. */
  readonly maxBufferedBytes: number;
  /** Of one batch, unless a single event is more: it is made into text at once. */
  readonly maxBatchBytes: number;
  /** Batches that are on their way together: a receiver that hangs holds no more than these. */
  readonly maxUnderWay: number;
}

type Timers = Pick<Clock, 'monotonic' | 'timer'>;

const secondMs = 1000;
/** An event without objects, as it lies in memory. */
const eventBytes = 2048;

const weightOf = ({ requestURI, requestObject = '', responseObject = '' }: AuditEvent): number =>
  eventBytes + requestURI.length + requestObject.length + responseObject.length;

export class BufferedBackend implements AuditBackend {
  readonly #delegate: AuditBackend;
  readonly #options: BatchOptions;
  readonly #clock: Timers;
  readonly #failures: AuditFailures;
  #waiting: AuditEvent[] = [];
  readonly #underWay = new Set<Promise<unknown>>();
  #cancelTimer: (() => void) | undefined;
  /** Of all that wait or are on their way. */
  #bytes = 0;
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
    const { maxBatchSize, maxBatchWaitMs } = this.#options;
    let kept = 0;
    while (kept < events.length && this.#take(events[kept]!)) kept++;
    if (kept < events.length) {
      const why = this.#closing ? 'audit backend shut down' : 'audit buffer queue blocked';
      this.#failures.lost('buffered', new Error(why), events.length - kept);
    }
    if (this.#waiting.length >= maxBatchSize) this.#send(false);
    else this.#cancelTimer ??= this.#clock.timer(maxBatchWaitMs, () => this.#timeIsUp(true));
    return true;
  }

  /** False: there is no room for it. */
  #take(event: AuditEvent): boolean {
    const { bufferSize, maxBufferedBytes } = this.#options;
    const bytes = weightOf(event);
    if (this.#closing || this.#waiting.length >= bufferSize) return false;
    if (this.#bytes > 0 && this.#bytes + bytes > maxBufferedBytes) return false;
    this.#bytes += bytes;
    this.#waiting.push(event);
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
      this.#deliver(this.#waiting.splice(0, this.#batchLength()));
    }
    if (this.#waiting.length === 0) {
      this.#cancelTimer?.();
      this.#cancelTimer = undefined;
    }
  }

  /** Of what waits, as much as is written out in one go. */
  #batchLength(): number {
    const { maxBatchSize, maxBatchBytes } = this.#options;
    let bytes = 0;
    let length = 0;
    while (length < Math.min(maxBatchSize, this.#waiting.length)) {
      bytes += weightOf(this.#waiting[length]!);
      if (length > 0 && bytes > maxBatchBytes) break;
      length++;
    }
    return length;
  }

  #deliver(batch: readonly AuditEvent[]): void {
    const leave = (): void => {
      for (const event of batch) this.#bytes -= weightOf(event);
    };
    const kept = this.#delegate.process(batch);
    if (!(kept instanceof Promise)) {
      leave();
      return;
    }
    const delivery = kept.finally(() => {
      leave();
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
