// What is counted of authentication: how each attempt ended, how long it took, and a few of the names that came.
import {
  type CounterMetric,
  declareMetrics,
  exponentialBuckets,
  type HistogramMetric,
  type MetricsRegistry,
} from '../../component-base/metrics.ts';

interface Declared {
  readonly users: CounterMetric;
  readonly attempts: CounterMetric;
  readonly durations: HistogramMetric;
}

const declared: (metrics: MetricsRegistry) => Declared = declareMetrics((metrics: MetricsRegistry) => ({
  users: metrics.counter(
    'authenticated_user_requests',
    'Counter of authenticated requests broken out by username.',
    ['username'],
  ),
  attempts: metrics.counter('authentication_attempts', 'Counter of authenticated attempts.', ['result']),
  durations: metrics.histogram(
    'authentication_duration_seconds',
    'Authentication duration in seconds broken out by result.',
    ['result'],
    exponentialBuckets(0.001, 2, 15),
  ),
}));

/** Upstream's: all others would be labels without end. */
const knownNames: readonly string[] = [
  ...['admin', 'client', 'kube_proxy', 'kubelet'],
  'system:serviceaccount:kube-system:default',
];
const nameOf = (name: string): string => {
  if (knownNames.includes(name)) return name;
  return name.includes('@') ? 'email_id' : 'other';
};

export interface AuthenticationMetrics {
  succeeded(name: string, seconds: number): void;
  /** `failure`: nobody knows who it is; `error`: somebody said that it is wrong. */
  failed(result: 'failure' | 'error', seconds: number): void;
}

export function authenticationMetrics(metrics: MetricsRegistry): AuthenticationMetrics {
  const { users, attempts, durations } = declared(metrics);
  const successes = attempts.of({ result: 'success' });
  const successDurations = durations.of({ result: 'success' });
  const others = users.of({ username: 'other' });
  return {
    succeeded(name, seconds) {
      const username = nameOf(name);
      if (username === 'other') others.inc();
      else users.inc({ username });
      successes.inc();
      successDurations.observe(seconds);
    },
    failed(result, seconds) {
      attempts.inc({ result });
      durations.observe({ result }, seconds);
    },
  };
}
