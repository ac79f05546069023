// What is counted of an authorizer elsewhere: how often it was asked, how that went, and whom its conditions spared.
import {
  type CounterMetric,
  declareMetrics,
  defaultBuckets,
  type HistogramMetric,
  type MetricsRegistry,
} from '../../../component-base/metrics.ts';

export interface WebhookMetrics {
  readonly evaluations: CounterMetric;
  readonly durations: HistogramMetric;
  readonly failedOpen: CounterMetric;
  readonly conditionSeconds: HistogramMetric;
  readonly conditionErrors: CounterMetric;
  readonly exclusions: CounterMetric;
}

export const webhookMetrics: (metrics: MetricsRegistry) => WebhookMetrics = declareMetrics(
  (metrics: MetricsRegistry) => ({
    evaluations: metrics.counter(
      'apiserver_authorization_webhook_evaluations_total',
      'Round-trips to authorization webhooks.',
      ['name', 'result'],
    ),
    durations: metrics.histogram(
      'apiserver_authorization_webhook_duration_seconds',
      'Request latency in seconds.',
      ['name', 'result'],
      defaultBuckets,
    ),
    failedOpen: metrics.counter(
      'apiserver_authorization_webhook_evaluations_fail_open_total',
      'NoOpinion results due to webhook timeout or error.',
      ['name', 'result'],
    ),
    conditionSeconds: metrics.histogram(
      'apiserver_authorization_match_condition_evaluation_seconds',
      'Authorization match condition evaluation time in seconds, split by authorizer type and name.',
      ['name', 'type'],
      [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25],
    ),
    conditionErrors: metrics.counter(
      'apiserver_authorization_match_condition_evaluation_errors_total',
      'Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.',
      ['name', 'type'],
    ),
    exclusions: metrics.counter(
      'apiserver_authorization_match_condition_exclusions_total',
      'Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.',
      ['name', 'type'],
    ),
  }),
);
