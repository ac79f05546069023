// What the taint eviction controller tells of its deletions, by upstream's names.
import { declareMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';

const declared = declareMetrics((metrics) => ({
  deletions: metrics.counter(
    'taint_eviction_controller_pod_deletions_total',
    'Total number of Pods deleted by TaintEvictionController since its start.',
    [],
  ),
  delay: metrics.histogram(
    'taint_eviction_controller_pod_deletion_duration_seconds',
    'Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion via TaintEvictionController.',
    [],
    [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  ),
}));

/** `late`: from when it was due until it was deleted. */
export function podEvicted(metrics: MetricsRegistry, late: { readonly seconds: number }): void {
  const { delay, deletions } = declared(metrics);
  deletions.inc({});
  delay.observe({}, late.seconds);
}
