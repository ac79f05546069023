// How often tokens of Secrets are used, and how they came to be.
import { type CounterMetric, declareMetrics, type MetricsRegistry } from '../../../component-base/metrics.ts';

export interface LegacyTokenCounts {
  readonly used: CounterMetric;
  readonly manual: CounterMetric;
  readonly auto: CounterMetric;
  readonly invalidated: CounterMetric;
}

export const legacyTokenCounts: (metrics: MetricsRegistry) => LegacyTokenCounts = declareMetrics(
  (metrics: MetricsRegistry) => ({
    used: metrics.counter(
      'serviceaccount_legacy_tokens_total',
      'Cumulative legacy service account tokens used',
      [],
    ),
    manual: metrics.counter(
      'serviceaccount_legacy_manual_token_uses_total',
      'Cumulative manually created legacy tokens used',
      [],
    ),
    auto: metrics.counter(
      'serviceaccount_legacy_auto_token_uses_total',
      'Cumulative auto-generated legacy tokens used',
      [],
    ),
    invalidated: metrics.counter(
      'serviceaccount_invalid_legacy_auto_token_uses_total',
      'Cumulative invalid auto-generated legacy tokens used',
      [],
    ),
  }),
);
