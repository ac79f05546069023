// What probes answered, and how long that took: /metrics/probes. What was told of a container goes with it.
import { defaultBuckets, type MetricsRegistry } from '../../component-base/metrics.ts';

/** `probe_type`, container, pod, namespace. */
export interface ProbeLabels {
  readonly probe_type: string;
  readonly container: string;
  readonly pod: string;
  readonly namespace: string;
}

export interface ProbeMetrics {
  answered(labels: ProbeLabels, podUid: string, result: ProbeResult, seconds: number): void;
  forget(labels: ProbeLabels, podUid: string): void;
}

const probeResults = ['successful', 'failed', 'unknown'] as const;
export type ProbeResult = (typeof probeResults)[number];

export function probeMetrics(metrics: Pick<MetricsRegistry, 'counter' | 'histogram'>): ProbeMetrics {
  const total = metrics.counter(
    'prober_probe_total',
    'Cumulative number of a liveness, readiness or startup probe for a container by result.',
    ['probe_type', 'result', 'container', 'pod', 'namespace', 'pod_uid'],
  );
  const duration = metrics.histogram(
    'prober_probe_duration_seconds',
    'Duration in seconds for a probe response.',
    ['probe_type', 'container', 'pod', 'namespace'],
    defaultBuckets,
  );
  return {
    answered: (labels, pod_uid, result, seconds) => {
      total.inc({ ...labels, result, pod_uid });
      duration.observe({ ...labels }, seconds);
    },
    forget: (labels, pod_uid) => {
      for (const result of probeResults) total.remove({ ...labels, result, pod_uid });
      duration.remove({ ...labels });
    },
  };
}
