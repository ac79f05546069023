// What is counted of webhooks, with upstream's names.
import { declareMetrics, type MetricsRegistry } from '../../../component-base/metrics.ts';

export type Phase = 'admit' | 'validating';
export type RejectionCause = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

export interface WebhookCall {
  readonly name: string;
  readonly type: Phase;
  readonly operation: string;
}

interface WebhookMetrics {
  asked(call: WebhookCall, seconds: number, rejected: boolean, code: number): void;
  rejected(call: WebhookCall, cause: RejectionCause, code: number): void;
  failedOpen(call: WebhookCall): void;
}

const buckets: readonly number[] = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
/** As upstream: whatever a webhook answers, there are so many series of it. */
const codeText = (code: number): string => String(Math.min(code, 600));

export const webhookMetrics: (metrics: MetricsRegistry) => WebhookMetrics = declareMetrics((metrics) => {
  const duration = metrics.histogram(
    'apiserver_admission_webhook_admission_duration_seconds',
    'Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).',
    ['name', 'type', 'operation', 'rejected'],
    buckets,
  );
  const requests = metrics.counter(
    'apiserver_admission_webhook_request_total',
    'Admission webhook request total, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.',
    ['name', 'type', 'operation', 'code', 'rejected'],
  );
  const rejections = metrics.counter(
    'apiserver_admission_webhook_rejection_count',
    'Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.',
    ['name', 'type', 'operation', 'error_type', 'rejection_code'],
  );
  const openings = metrics.counter(
    'apiserver_admission_webhook_fail_open_count',
    'Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).',
    ['name', 'type'],
  );
  return {
    asked({ name, type, operation }, seconds, isRejected, code) {
      const rejected = String(isRejected);
      duration.observe({ name, type, operation, rejected }, seconds);
      requests.inc({ name, type, operation, code: codeText(code), rejected });
    },
    rejected: ({ name, type, operation }, error_type, code) =>
      rejections.inc({ name, type, operation, error_type, rejection_code: codeText(code) }),
    failedOpen: ({ name, type }) => openings.inc({ name, type }),
  };
});
