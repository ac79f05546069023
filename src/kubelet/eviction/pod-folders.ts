// What is to be walked to measure a pod, and what it uses by that and by what the runtime tells.
import type { Pod } from '../../api/generated/types/core-v1.ts';
import type { FolderUsage } from '../../os/beneath.ts';
import type { ContainerStats } from '../../rpc-api/generated/cri-v1.ts';
import { newestStats } from '../newest-stats.ts';
import { labelContainerName, podUid } from '../pod-format.ts';
import type { PodStorage } from '../pod-storage.ts';
import { pluginOf, volumeDir } from '../volumes/volume-dir.ts';
import { isOnDisk, isSizeLimited, type PodUsage } from './pod-usage.ts';

interface PodFolders {
  readonly volumes: readonly { readonly name: string; readonly dir: string }[];
  readonly logs: readonly { readonly name: string; readonly dir: string }[];
  /** Folders and files. */
  readonly kept: readonly string[];
}

/** `keptOf`: what the node keeps of a container beside its layers. */
export interface PodPlaces {
  readonly storage: Pick<PodStorage, 'podDir' | 'logDirectory'>;
  readonly keptOf: (containerId: string) => readonly string[];
}

/** Volumes with limits of their own come first: the others must not use up the time. */
export function podFolders(
  pod: Pod,
  { storage, keptOf }: PodPlaces,
  stats: readonly ContainerStats[],
): PodFolders {
  const all = pod.spec.volumes ?? [];
  const ordered = [...all.filter(isSizeLimited), ...all.filter((volume) => !isSizeLimited(volume))];
  const volumes = ordered.flatMap((volume) => {
    const plugin = isOnDisk(volume) || volume.emptyDir !== undefined ? pluginOf(volume) : undefined;
    return plugin ? [{ name: volume.name, dir: volumeDir(storage.podDir(podUid(pod)), plugin, volume) }] : [];
  });
  const directory = storage.logDirectory(pod);
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const podDir = storage.podDir(podUid(pod));
  const kept = stats.flatMap(({ attributes }) => keptOf(attributes?.id ?? ''));
  return {
    volumes,
    logs: containers.map(({ name }) => ({ name, dir: `${directory}/${name}` })),
    kept: [`${podDir}/etc-hosts`, `${podDir}/containers`, ...kept],
  };
}

const nothing: FolderUsage = { bytes: 0, inodes: 0 };

/** `untold`: ids of containers whose layer nobody counts. `used`: of the volumes, then of the logs, then of what is kept; what is not there counts for nothing. `stats`: of this pod's containers. */
export function usageOfFolders(
  { volumes, logs, kept }: PodFolders,
  used: readonly FolderUsage[],
  stats: readonly ContainerStats[],
  untold: ReadonlySet<string>,
): PodUsage {
  const newest = newestStats(stats);
  const containers = logs.map(({ name }, i) => {
    const told = newest.find((each) => each.attributes?.labels?.[labelContainerName] === name);
    const written = used[volumes.length + i] ?? nothing;
    return {
      name,
      rootfsBytes: told?.writableLayer?.usedBytes?.value ?? 0,
      logsBytes: written.bytes,
      memoryBytes: told?.memory?.workingSetBytes?.value ?? 0,
      inodes: (told?.writableLayer?.inodesUsed?.value ?? 0) + written.inodes,
      uncounted: written.uncounted ?? (untold.has(told?.attributes?.id ?? '') ? 'unread' : undefined),
    };
  });
  return {
    containers,
    volumes: new Map(volumes.map(({ name }, i) => [name, used[i] ?? nothing])),
    kept: kept.map((_, i) => used[volumes.length + logs.length + i] ?? nothing),
  };
}
