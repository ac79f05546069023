// How long the handlers of an informer take for what is told to them, by client-go's name.
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import { declareMetrics, type MetricsRegistry, type Observed } from '../../component-base/metrics.ts';

const declared = declareMetrics((metrics) =>
  metrics.histogram(
    'informer_processing_latency_seconds',
    'Time taken to process events after popping from the queue.',
    ['name', 'group', 'version', 'resource'],
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  ),
);

export const processingLatency = (
  metrics: MetricsRegistry,
  name: string,
  { group, version, resource }: ResourceRef<unknown>,
): Observed => declared(metrics).of({ name, group, version, resource });
