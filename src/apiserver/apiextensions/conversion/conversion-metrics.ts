// What is counted of conversion webhooks, with upstream's names.
import { declareMetrics, exponentialBuckets, type MetricsRegistry } from '../../../component-base/metrics.ts';

export type ConversionFailure =
  | 'conversion_webhook_call_failure'
  | 'conversion_webhook_malformed_response_failure'
  | 'conversion_webhook_partial_response_failure'
  | 'conversion_webhook_invalid_converted_object_failure';

export interface ConversionMetrics {
  /** undefined: it succeeded. */
  asked(seconds: number, failure: ConversionFailure | undefined): void;
  converted(crd: string, from: string, to: string, seconds: number, succeeded: boolean): void;
}

export const conversionMetrics: (metrics: MetricsRegistry) => ConversionMetrics = declareMetrics(
  (metrics) => {
    const requests = metrics.counter(
      'apiserver_conversion_webhook_request_total',
      'Counter for conversion webhook requests with success/failure and failure error type',
      ['result', 'failure_type'],
    );
    const latency = metrics.histogram(
      'apiserver_conversion_webhook_duration_seconds',
      'Conversion webhook request latency',
      ['result', 'failure_type'],
      [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60],
    );
    const conversions = metrics.histogram(
      'apiserver_crd_conversion_webhook_duration_seconds',
      'CRD webhook conversion duration in seconds',
      ['crd_name', 'from_version', 'to_version', 'succeeded'],
      exponentialBuckets(0.001, 2, 15),
    );
    return {
      asked(seconds, failure) {
        const labels = {
          result: failure === undefined ? 'success' : 'failure',
          failure_type: failure ?? '',
        };
        requests.inc(labels);
        latency.observe(labels, seconds);
      },
      converted: (crd_name, from_version, to_version, seconds, succeeded) =>
        conversions.observe({ crd_name, from_version, to_version, succeeded: String(succeeded) }, seconds),
    };
  },
);
