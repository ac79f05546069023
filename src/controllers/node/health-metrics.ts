// What the node lifecycle controller tells of zones and evictions, by upstream's names.
import { declareMetrics, exponentialBuckets, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { Zones } from './zones.ts';

const labels = ['zone'];

const declared = declareMetrics((metrics) => ({
  size: metrics.readGauge(
    'node_collector_zone_size',
    'Gauge measuring number of registered Nodes per zones.',
    labels,
  ),
  health: metrics.readGauge(
    'node_collector_zone_health',
    'Gauge measuring percentage of healthy nodes per zone.',
    labels,
  ),
  unhealthy: metrics.readGauge(
    'node_collector_unhealthy_nodes_in_zone',
    'Gauge measuring number of not Ready Nodes per zones.',
    labels,
  ),
  evictions: metrics.counter(
    'node_collector_evictions_total',
    'Number of Node evictions that happened since current instance of NodeController started.',
    labels,
  ),
  update: metrics.histogram(
    'node_collector_update_node_health_duration_seconds',
    'Duration in seconds for NodeController to update the health of a single node.',
    [],
    exponentialBuckets(0.001, 4, 8),
  ),
}));

/** Asked from now on; the result ends that. */
export function showZones(metrics: MetricsRegistry, zones: () => Zones): () => void {
  const { health, size, unhealthy } = declared(metrics);
  const all = () => [...zones().all].map(([zone, { ready, notReady }]) => ({ zone, ready, notReady }));
  const ends = [
    size.add(() => all().map(({ zone, ready, notReady }) => [{ zone }, ready + notReady])),
    unhealthy.add(() => all().map(({ zone, notReady }) => [{ zone }, notReady])),
    health.add(() =>
      all()
        .filter(({ ready, notReady }) => ready + notReady > 0)
        .map(({ zone, ready, notReady }) => [{ zone }, (100 * ready) / (ready + notReady)]),
    ),
  ];
  return () => {
    for (const end of ends) end();
  };
}

export const nodeEvicted = (metrics: MetricsRegistry, zone: string): void =>
  declared(metrics).evictions.inc({ zone });

export const nodeLookedAt = (metrics: MetricsRegistry, { seconds }: { readonly seconds: number }): void =>
  declared(metrics).update.observe({}, seconds);
