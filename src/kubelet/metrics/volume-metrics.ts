// How many volumes the node's pods want and have, and how long it takes to set one up.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import type { Labels, MetricsRegistry } from '../../component-base/metrics.ts';
import { podUid } from '../pod-format.ts';
import { pluginOf } from '../volumes/volume-dir.ts';

export interface VolumeMetrics {
  /** Throws what the work throws. */
  setUp<T>(pod: Pod, volume: string, plugin: string, work: () => Promise<T>): Promise<T>;
  tornDown(pod: Pod): void;
}

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

export function volumeMetrics(
  metrics: Pick<MetricsRegistry, 'histogram' | 'readGauge'>,
  clock: Pick<Clock, 'monotonic'>,
  wanted: () => readonly Pod[],
): VolumeMetrics {
  const duration = metrics.histogram(
    'storage_operation_duration_seconds',
    'Storage operation duration',
    ['volume_plugin', 'operation_name', 'status', 'migrated'],
    buckets,
  );
  /** Of each pod the plugins of its volumes that are set up, by the volume's name. */
  const there = new Map<string, Map<string, string>>();
  const counted = (state: string, plugins: readonly string[]): (readonly [Labels, number])[] =>
    [...Map.groupBy(plugins, (name) => name)].map(([plugin_name, all]) => [
      { plugin_name, state },
      all.length,
    ]);
  metrics.readGauge(
    'volume_manager_total_volumes',
    'Number of volumes in Volume Manager',
    ['plugin_name', 'state'],
    () => {
      const volumes = wanted().flatMap((pod) => pod.spec.volumes ?? []);
      const desired = volumes.flatMap((volume) => pluginOf(volume)?.name ?? []);
      const actual = [...there.values()].flatMap((plugins) => [...plugins.values()]);
      return [...counted('desired_state_of_world', desired), ...counted('actual_state_of_world', actual)];
    },
  );
  return {
    async setUp(pod, volume, plugin, work) {
      const began = clock.monotonic();
      let status = 'fail-unknown';
      try {
        const done = await work();
        status = 'success';
        const plugins = there.get(podUid(pod)) ?? new Map<string, string>();
        there.set(podUid(pod), plugins.set(volume, plugin));
        return done;
      } finally {
        const labels = { volume_plugin: plugin, operation_name: 'volume_mount', status, migrated: 'false' };
        duration.observe(labels, (clock.monotonic() - began) / 1000);
      }
    },
    tornDown: (pod) => void there.delete(podUid(pod)),
  };
}
