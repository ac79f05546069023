// Audit events sent to an HTTP server, again and again where it does not take them.
import { type AuditEvent, eventList } from '../../api/audit/event.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { AuditBackend, AuditFailures } from './backend.ts';

/** Sends a body of JSON; rejects when it was not taken. */
export interface JsonReceiver {
  post(body: Buffer, signal: AbortSignal): Promise<void>;
  close(): void;
}

/** As upstream's webhooks: five tries, each half as long again after the one before. */
const tries = 5;
const factor = 1.5;
const jitter = 0.2;
const requestTimeoutMs = 30_000;

/** What is on its way when the server ends may still arrive. */
const closeGraceMs = 2_000;

export interface WebhookOptions {
  readonly receiver: JsonReceiver;
  readonly initialBackoffMs: number;
  readonly clock: Pick<Clock, 'sleep' | 'timer'>;
  readonly random: Pick<Random, 'fraction'>;
  readonly failures: AuditFailures;
}

export class WebhookBackend implements AuditBackend {
  readonly #options: WebhookOptions;
  readonly #underWay = new Set<Promise<boolean>>();
  /** No more tries. */
  readonly #closing = new AbortController();
  /** Nobody waits for an answer any more. */
  readonly #cut = new AbortController();

  constructor(options: WebhookOptions) {
    this.#options = options;
  }

  process(events: readonly AuditEvent[]): Promise<boolean> {
    const delivery = this.#deliver(events).finally(() => this.#underWay.delete(delivery));
    this.#underWay.add(delivery);
    return delivery;
  }

  async #deliver(events: readonly AuditEvent[]): Promise<boolean> {
    const { failures, clock, random } = this.#options;
    const body = Buffer.from(eventList(events));
    let waitMs = this.#options.initialBackoffMs;
    for (let left = tries; ; left--) {
      try {
        await this.#post(body);
        failures.worked('webhook');
        return true;
      } catch (error) {
        if (left === 1 || this.#closing.signal.aborted) {
          failures.lost('webhook', error, events.length);
          return false;
        }
      }
      await clock
        .sleep(waitMs * (1 + random.fraction() * jitter), this.#closing.signal)
        .catch(() => undefined);
      waitMs *= factor;
    }
  }

  async #post(body: Buffer): Promise<void> {
    const { clock, receiver } = this.#options;
    const late = new AbortController();
    const cancel = clock.timer(requestTimeoutMs, () => late.abort(new Error('context deadline exceeded')));
    try {
      await receiver.post(body, AbortSignal.any([late.signal, this.#cut.signal]));
    } finally {
      cancel();
    }
  }

  async close(): Promise<void> {
    const { clock, receiver } = this.#options;
    this.#closing.abort();
    const cancel = clock.timer(closeGraceMs, () => this.#cut.abort(new Error('audit backend shut down')));
    await Promise.all(this.#underWay);
    cancel();
    receiver.close();
  }
}
