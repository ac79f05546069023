// What is measured of rules of custom resources, and of what their updates are compared with, with upstream's names.
import {
  declareMetrics,
  defaultBuckets,
  exponentialBuckets,
  type MetricsRegistry,
} from '../../component-base/metrics.ts';

/** In seconds. */
export interface RuleMetrics {
  compiled(seconds: number): void;
  evaluated(seconds: number): void;
  /** How long an update was compared with what was there. */
  ratcheted(seconds: number): void;
}

export const ruleMetrics: (metrics: MetricsRegistry) => RuleMetrics = declareMetrics((metrics) => {
  const compilation = metrics.histogram(
    'apiserver_cel_compilation_duration_seconds',
    'CEL compilation time in seconds.',
    [],
    defaultBuckets,
  );
  const evaluation = metrics.histogram(
    'apiserver_cel_evaluation_duration_seconds',
    'CEL evaluation time in seconds.',
    [],
    defaultBuckets,
  );
  const ratcheting = metrics.histogram(
    'apiextensions_apiserver_validation_ratcheting_seconds',
    'Time for comparison of old to new for the purposes of CRDValidationRatcheting during an UPDATE in seconds.',
    [],
    exponentialBuckets(0.00001, 4, 10),
  );
  return {
    ratcheted: (seconds) => ratcheting.observe({}, seconds),
    compiled: (seconds) => compilation.observe({}, seconds),
    evaluated: (seconds) => evaluation.observe({}, seconds),
  };
});
