// What is counted of policies, with upstream's names.
import { declareMetrics, type MetricsRegistry } from '../../../component-base/metrics.ts';

export type ErrorType = 'no_error' | 'compile_error' | 'out_of_budget' | 'invalid_error';

/** As upstream tells them apart: by their words. */
export function errorTypeOf(message: string): ErrorType {
  if (message.startsWith('compilation')) return 'compile_error';
  return message.startsWith('validation failed due to running out of cost budget')
    ? 'out_of_budget'
    : 'invalid_error';
}

const buckets: readonly number[] = [0.0000005, 0.001, 0.01, 0.1, 1];

interface ValidatingMetrics {
  checked(policy: string, binding: string, error: ErrorType, action: string, seconds: number): void;
}

export const validatingMetrics: (metrics: MetricsRegistry) => ValidatingMetrics = declareMetrics(
  (metrics) => {
    const checks = metrics.counter(
      'apiserver_validating_admission_policy_check_total',
      'Validation admission policy check total, labeled by policy and further identified by binding and enforcement action taken.',
      ['policy', 'policy_binding', 'error_type', 'enforcement_action'],
    );
    const durations = metrics.histogram(
      'apiserver_validating_admission_policy_check_duration_seconds',
      'Validation admission latency for individual validation expressions in seconds, labeled by policy and further including binding and enforcement action taken.',
      ['policy', 'policy_binding', 'error_type', 'enforcement_action'],
      buckets,
    );

    return {
      checked(policy, policy_binding, error_type, enforcement_action, seconds) {
        const of = { policy, policy_binding, error_type, enforcement_action };
        checks.inc(of);
        durations.observe(of, seconds);
      },
    };
  },
);

interface MutatingMetrics {
  checked(policy: string, binding: string, error: ErrorType, seconds: number): void;
}

export const mutatingMetrics: (metrics: MetricsRegistry) => MutatingMetrics = declareMetrics((metrics) => {
  const checks = metrics.counter(
    'apiserver_mutating_admission_policy_check_total',
    'Mutation admission policy check total, labeled by policy and further identified by binding.',
    ['policy', 'policy_binding', 'error_type'],
  );
  const durations = metrics.histogram(
    'apiserver_mutating_admission_policy_check_duration_seconds',
    'Mutation admission latency for individual mutation expressions in seconds, labeled by policy and binding.',
    ['policy', 'policy_binding', 'error_type'],
    buckets,
  );
  return {
    checked(policy, policy_binding, error_type, seconds) {
      const of = { policy, policy_binding, error_type };
      checks.inc(of);
      durations.observe(of, seconds);
    },
  };
});
