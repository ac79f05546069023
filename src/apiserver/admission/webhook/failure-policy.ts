// What becomes of a request when its webhook fails; and what is counted of the call, however it ended.
import { isStatusError } from '../../../apimachinery/errors.ts';
import type { Clock } from '../../../base/clock.ts';
import { inWords, type Logger } from '../../../component-base/logger.ts';
import type { MetricsRegistry } from '../../../component-base/metrics.ts';
import type { AdmissionRequest } from '../admission.ts';
import { asRefusal, CallingWebhookError, tooLate, WebhookRejection } from './failures.ts';
import type { Webhook } from './webhook.ts';
import { type Phase, type RejectionCause, type WebhookCall, webhookMetrics } from './webhook-metrics.ts';

export interface Policed {
  readonly request: AdmissionRequest;
  readonly webhook: Webhook;
  readonly phase: Phase;
  /** Where the audit log is told that nobody looked. */
  readonly failedOpenKey: string;
}

export type FailurePolicy = <T>(about: Policed, call: () => Promise<T>) => Promise<T | undefined>;

const causeOf = (error: unknown): RejectionCause => {
  if (error instanceof WebhookRejection) return 'no_error';
  return error instanceof CallingWebhookError ? 'calling_webhook_error' : 'apiserver_internal_error';
};

function codeOf(error: unknown): number {
  if (error instanceof WebhookRejection) return error.status.code;
  return error instanceof CallingWebhookError ? error.code : 0;
}

/** What the call says, or undefined when it failed and that does not matter. Throws the refusal. */
export function failurePolicy(deps: {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}): FailurePolicy {
  const { clock, log } = deps;
  const metrics = webhookMetrics(deps.metrics);
  return async ({ request, webhook, phase, failedOpenKey }, call) => {
    const about: WebhookCall = { name: webhook.name, type: phase, operation: request.operation };
    const start = clock.monotonic();
    const count = (rejected: boolean, code: number): void =>
      metrics.asked(about, (clock.monotonic() - start) / 1000, rejected, code);
    try {
      const result = await call();
      count(false, 200);
      return result;
    } catch (error) {
      const { name, failsOpen } = webhook;
      const failed = error instanceof CallingWebhookError;
      const left = request.signal.aborted;
      count(!(failed && failsOpen), codeOf(error));
      if (failed && failsOpen) {
        // Nobody waits any more, which is no failure of the webhook's: what it was asked about is not written.
        if (left) throw tooLate();
        log.warn({ webhook: name, error: inWords(error) }, 'failed calling webhook, failing open');
        metrics.failedOpen(about);
        request.annotate(failedOpenKey, name);
        return undefined;
      }
      if (!failed || !left) metrics.rejected(about, causeOf(error), codeOf(error));
      if (failed)
        log.warn({ webhook: name, error: inWords(error) }, 'failed calling webhook, failing closed');
      else if (!(error instanceof WebhookRejection) && !isStatusError(error))
        log.error({ webhook: name, error }, 'calling a webhook failed');
      throw asRefusal(error);
    }
  };
}
