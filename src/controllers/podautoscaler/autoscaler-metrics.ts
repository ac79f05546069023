// What the autoscaler's controller tells of itself, by upstream's names.
import {
  type CounterMetric,
  declareMetrics,
  exponentialBuckets,
  type HistogramMetric,
  type MetricsRegistry,
  type ReadGauge,
} from '../../component-base/metrics.ts';

export type Action = 'scale_up' | 'scale_down' | 'none';
export type Fault = 'spec' | 'internal' | 'none';

const labels = "The label 'action' should be either 'scale_down', 'scale_up', or 'none'.";
const faults = "the label 'error' should be either 'spec', 'internal', or 'none'.";

const declared = declareMetrics((metrics) => ({
  reconciliations: metrics.counter(
    'horizontal_pod_autoscaler_controller_reconciliations_total',
    `Number of reconciliations of HPA controller. ${labels} Also, ${faults} Note that if both spec and internal errors happen during a reconciliation, the first one to occur is reported in \`error\` label.`,
    ['action', 'error'],
  ),
  reconciliationDuration: metrics.histogram(
    'horizontal_pod_autoscaler_controller_reconciliation_duration_seconds',
    `The time(seconds) that the HPA controller takes to reconcile once. ${labels} Also, ${faults} Note that if both spec and internal errors happen during a reconciliation, the first one to occur is reported in \`error\` label.`,
    ['action', 'error'],
    exponentialBuckets(0.001, 2, 15),
  ),
  computations: metrics.counter(
    'horizontal_pod_autoscaler_controller_metric_computation_total',
    `Number of metric computations. ${labels} Also, ${faults} The label 'metric_type' corresponds to HPA.spec.metrics[*].type`,
    ['action', 'error', 'metric_type'],
  ),
  computationDuration: metrics.histogram(
    'horizontal_pod_autoscaler_controller_metric_computation_duration_seconds',
    `The time(seconds) that the HPA controller takes to calculate one metric. ${labels} The label 'error' should be either 'spec', 'internal', or 'none'. The label 'metric_type' corresponds to HPA.spec.metrics[*].type`,
    ['action', 'error', 'metric_type'],
    exponentialBuckets(0.001, 2, 15),
  ),
  autoscalers: metrics.readGauge(
    'horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers',
    'Current number of controlled HPA objects.',
    [],
  ),
  desired: metrics.readGauge(
    'horizontal_pod_autoscaler_controller_desired_replicas',
    'Current desired replica count for HPA objects.',
    ['namespace', 'hpa_name'],
  ),
}));

interface AutoscalerMetrics {
  readonly reconciliations: CounterMetric;
  readonly reconciliationDuration: HistogramMetric;
  readonly computations: CounterMetric;
  readonly computationDuration: HistogramMetric;
  readonly autoscalers: ReadGauge;
  readonly desired: ReadGauge;
}

export const autoscalerMetrics: (metrics: MetricsRegistry) => AutoscalerMetrics = declared;
