// What is measured of rules of custom resources, with upstream's names.
import { declareMetrics, defaultBuckets, type MetricsRegistry } from '../../component-base/metrics.ts';

/** In seconds. */
export interface RuleMetrics {
  compiled(seconds: number): void;
  evaluated(seconds: number): void;
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
  return {
    compiled: (seconds) => compilation.observe({}, seconds),
    evaluated: (seconds) => evaluation.observe({}, seconds),
  };
});
