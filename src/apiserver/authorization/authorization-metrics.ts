// What is counted of authorization: how each attempt ended, and how long it took.
import {
  type CounterMetric,
  declareMetrics,
  exponentialBuckets,
  type HistogramMetric,
  type MetricsRegistry,
} from '../../component-base/metrics.ts';
import type { AuthorizationDecision } from './authorizer.ts';

interface Declared {
  readonly attempts: CounterMetric;
  readonly durations: HistogramMetric;
}

const declared: (metrics: MetricsRegistry) => Declared = declareMetrics((metrics: MetricsRegistry) => ({
  attempts: metrics.counter(
    'authorization_attempts_total',
    "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied', 'no-opinion' or 'error'.",
    ['result'],
  ),
  durations: metrics.histogram(
    'authorization_duration_seconds',
    'Authorization duration in seconds broken out by result.',
    ['result'],
    exponentialBuckets(0.001, 2, 15),
  ),
}));

const resultOf = { allow: 'allowed', deny: 'denied', 'no-opinion': 'no-opinion' } as const;

export type AuthorizationObserved = (answer: AuthorizationDecision, seconds: number) => void;

export function authorizationMetrics(metrics: MetricsRegistry): AuthorizationObserved {
  const { attempts, durations } = declared(metrics);
  const allowed = attempts.of({ result: 'allowed' });
  const allowedDurations = durations.of({ result: 'allowed' });
  return ({ decision, error }, seconds) => {
    if (decision === 'allow') {
      allowed.inc();
      allowedDurations.observe(seconds);
      return;
    }
    const result = error === undefined ? resultOf[decision] : 'error';
    attempts.inc({ result });
    durations.observe({ result }, seconds);
  };
}
