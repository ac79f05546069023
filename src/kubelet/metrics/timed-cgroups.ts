// Times what is done to the control groups of pods.
import type { Clock } from '../../base/clock.ts';
import { defaultBuckets, type MetricsRegistry } from '../../component-base/metrics.ts';
import type { Cgroups } from '../../os/cgroups.ts';

export function timedCgroups(
  cgroups: Cgroups,
  metrics: Pick<MetricsRegistry, 'histogram'>,
  clock: Pick<Clock, 'monotonic'>,
): Cgroups {
  const duration = metrics.histogram(
    'kubelet_cgroup_manager_duration_seconds',
    'Duration in seconds for cgroup manager operations. Broken down by method.',
    ['operation_type'],
    defaultBuckets,
  );
  const timed =
    <A extends readonly unknown[]>(operation_type: string, work: (...given: A) => Promise<void>) =>
    async (...given: A): Promise<void> => {
      const began = clock.monotonic();
      try {
        await work(...given);
      } finally {
        duration.observe({ operation_type }, (clock.monotonic() - began) / 1000);
      }
    };
  return { ...cgroups, ensure: timed('create', cgroups.ensure), remove: timed('destroy', cgroups.remove) };
}
