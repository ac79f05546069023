// How pods fare and what the scheduler knows, by upstream's names.
import { declareMetrics, exponentialBuckets, type MetricsRegistry } from '../component-base/metrics.ts';

export type AttemptResult = 'scheduled' | 'unschedulable' | 'error';

export interface SchedulerMetrics {
  /** From the beginning of a try to its end, binding included. */
  attempted(result: AttemptResult, seconds: number): void;
  /** A node was looked for. */
  searched(seconds: number): void;
  /** A pod has its node, so many seconds after it was first in the active queue. */
  scheduled(attempts: number, seconds: number): void;
}

const milliseconds = exponentialBuckets(0.001, 2, 15);

const declared = declareMetrics((metrics) => ({
  attempts: metrics.counter(
    'scheduler_schedule_attempts_total',
    "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, while 'error' means an internal scheduler problem.",
    ['result', 'profile'],
  ),
  duration: metrics.histogram(
    'scheduler_scheduling_attempt_duration_seconds',
    'Scheduling attempt latency in seconds (scheduling algorithm + binding)',
    ['result', 'profile'],
    milliseconds,
  ),
  algorithm: metrics.histogram(
    'scheduler_scheduling_algorithm_duration_seconds',
    'Scheduling algorithm latency in seconds',
    [],
    milliseconds,
  ),
  sli: metrics.histogram(
    'scheduler_pod_scheduling_sli_duration_seconds',
    'E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might involve multiple scheduling attempts.',
    ['attempts'],
    exponentialBuckets(0.01, 2, 20),
  ),
  podAttempts: metrics.histogram(
    'scheduler_pod_scheduling_attempts',
    'Number of attempts to successfully schedule a pod.',
    [],
    exponentialBuckets(1, 2, 5),
  ),
  cacheSize: metrics.readGauge(
    'scheduler_cache_size',
    'Number of nodes, pods, and assumed (bound) pods in the scheduler cache.',
    ['type'],
  ),
}));

export function schedulerMetrics(metrics: MetricsRegistry, profile: string): SchedulerMetrics {
  const { algorithm, attempts: tries, duration, podAttempts, sli } = declared(metrics);
  return {
    attempted(result, seconds) {
      tries.inc({ result, profile });
      duration.observe({ result, profile }, seconds);
    },
    searched: (seconds) => algorithm.observe({}, seconds),
    scheduled(attempts, seconds) {
      podAttempts.observe({}, attempts);
      sli.observe({ attempts: attempts >= 15 ? '15+' : String(attempts) }, seconds);
    },
  };
}

/** The result ends it. */
export const showCache = (
  metrics: MetricsRegistry,
  sizes: () => Readonly<Record<'nodes' | 'pods' | 'assumed_pods', number>>,
): (() => void) =>
  declared(metrics).cacheSize.add(() =>
    Object.entries(sizes()).map(([type, size]) => [{ type }, size] as const),
  );
