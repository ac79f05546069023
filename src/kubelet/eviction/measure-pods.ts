// Measures what pods use: containers as the runtime tells it, volumes and logs as they lie on the disk.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { Beneath } from '../../os/beneath.ts';
import type { RuntimeService } from '../../rpc-api/cri.ts';
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';
import { labelContainerName, labelPodUid, podUid } from '../pod-format.ts';
import type { PodStorage } from '../pod-storage.ts';
import { pluginOf, volumeDir } from '../volumes/volume-dir.ts';
import type { MeasuredPod } from './choose-pod.ts';
import { isOnDisk } from './pod-usage.ts';

export interface MeasurePodsDeps {
  readonly runtime: Pick<RuntimeService, 'listContainerStats'>;
  readonly beneath: Pick<Beneath, 'usage'>;
  readonly storage: Pick<PodStorage, 'podDir' | 'logDirectory'>;
}

const labelOf = (stats: ContainerStats, label: string): string => stats.attributes?.labels?.[label] ?? '';

export function createPodMeter(deps: MeasurePodsDeps): (pods: readonly Pod[]) => Promise<MeasuredPod[]> {
  async function measure(pod: Pod, all: readonly ContainerStats[]): Promise<MeasuredPod> {
    const volumes = (pod.spec.volumes ?? []).flatMap((volume) => {
      const plugin = isOnDisk(volume) || volume.emptyDir !== undefined ? pluginOf(volume) : undefined;
      return plugin
        ? [{ name: volume.name, dir: volumeDir(deps.storage.podDir(podUid(pod)), plugin, volume) }]
        : [];
    });
    const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].map((c) => c.name);
    const logs = deps.storage.logDirectory(pod);
    const used = await deps.beneath.usage([
      ...volumes.map(({ dir }) => dir),
      ...names.map((name) => `${logs}/${name}`),
    ]);
    const containers = names.map((name, i) => {
      const stats = all.find(
        (s) => labelOf(s, labelPodUid) === podUid(pod) && labelOf(s, labelContainerName) === name,
      );
      return {
        name,
        rootfsBytes: stats?.writableLayer?.usedBytes?.value ?? 0,
        logsBytes: used[volumes.length + i]!.bytes,
        memoryBytes: stats?.memory?.workingSetBytes?.value ?? 0,
        inodes: (stats?.writableLayer?.inodesUsed?.value ?? 0) + used[volumes.length + i]!.inodes,
      };
    });
    return {
      pod,
      usage: { containers, volumes: new Map(volumes.map(({ name }, i) => [name, used[i]!])) },
    };
  }
  return async (pods) => {
    if (pods.length === 0) return [];
    const all = await deps.runtime.listContainerStats();
    const measured: MeasuredPod[] = [];
    for (const pod of pods) measured.push(await measure(pod, all));
    return measured;
  };
}
