// What is counted of tokens whose verdicts are kept: found or not, and the questions that are under way for them.
import {
  type CounterMetric,
  declareMetrics,
  defaultBuckets,
  type GaugeMetric,
  type HistogramMetric,
  type MetricsRegistry,
} from '../../../component-base/metrics.ts';

export interface TokenCacheMetrics {
  readonly durations: HistogramMetric;
  readonly requests: CounterMetric;
  readonly fetches: CounterMetric;
  readonly active: GaugeMetric;
}

export const tokenCacheMetrics: (metrics: MetricsRegistry) => TokenCacheMetrics = declareMetrics(
  (metrics: MetricsRegistry) => ({
    durations: metrics.histogram(
      'authentication_token_cache_request_duration_seconds',
      'How long it took to know a token, by whether it was known already',
      ['status'],
      defaultBuckets,
    ),
    requests: metrics.counter(
      'authentication_token_cache_request_total',
      'How many tokens came, by whether they were known already',
      ['status'],
    ),
    fetches: metrics.counter(
      'authentication_token_cache_fetch_total',
      'How many tokens were asked about, by whether there was an answer',
      ['status'],
    ),
    active: metrics.gauge(
      'authentication_token_cache_active_fetch_count',
      'Questions about tokens that are under way, and requests that wait for them',
      ['status'],
    ),
  }),
);
