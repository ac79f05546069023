// What a pod uses of its node, and how much it may. Pure.
import { podLimitAmounts, podRequestAmounts } from '../../api/core/v1/pod-resources.ts';
import type { Pod, Volume } from '../../api/generated/types/core-v1.ts';
import {
  compareQuantities,
  formatQuantity,
  type Quantity,
  quantityOf,
  quantityValue,
  tryParseQuantity,
} from '../../apimachinery/quantity.ts';
import type { FolderUsage, Uncounted } from '../../os/beneath.ts';
import type { StarvedResource } from './thresholds.ts';

export interface ContainerUsage {
  readonly name: string;
  readonly rootfsBytes: number;
  readonly logsBytes: number;
  readonly memoryBytes: number;
  readonly inodes: number;
  /** Of its logs or its layer: then it uses at least what is told. */
  readonly uncounted?: Uncounted | undefined;
}

export interface PodUsage {
  readonly containers: readonly ContainerUsage[];
  /** By the volume's name. */
  readonly volumes: ReadonlyMap<string, FolderUsage>;
  /** Files that the node keeps for it: of its hosts, of how its containers ended, of the volumes of their images. */
  readonly kept?: readonly FolderUsage[];
  /** The node has no volumes in memory: what is to be one is a folder. */
  readonly memoryIsDisk?: boolean;
}

/** On the node's own disk (upstream: IsLocalEphemeralVolume). */
export const isOnDisk = ({ emptyDir, configMap }: Volume, memoryIsDisk = false): boolean =>
  configMap !== undefined || (emptyDir !== undefined && (memoryIsDisk || (emptyDir.medium ?? '') === ''));

type Which = 'requests' | 'limits';

/** Undefined: neither the pod nor a container names it. */
export const podResource = (pod: Pod, which: Which, resource: StarvedResource): Quantity | undefined =>
  (which === 'limits' ? podLimitAmounts : podRequestAmounts)(pod, { excludeOverhead: true }).get(resource);

const total = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);

export function podUse(pod: Pod, usage: PodUsage, resource: StarvedResource): number {
  const { containers, volumes, kept = [], memoryIsDisk } = usage;
  if (resource === 'memory') return total(containers.map((c) => c.memoryBytes));
  const ofVolumes = (pod.spec.volumes ?? []).filter((volume) => isOnDisk(volume, memoryIsDisk));
  const onDisk = [...ofVolumes.flatMap(({ name }) => volumes.get(name) ?? []), ...kept];
  return resource === 'inodes'
    ? total([...containers.map((c) => c.inodes), ...onDisk.map((v) => v.inodes)])
    : total([...containers.map((c) => c.rootfsBytes + c.logsBytes), ...onDisk.map((v) => v.bytes)]);
}

const exceeds = (used: number, limit: Quantity): boolean => compareQuantities(quantityOf(used), limit) > 0;

/** Why a pod must go although its node has room. */
export interface Excess {
  /** Upstream's name of the limit. */
  readonly signal: 'emptydirfs.limit' | 'ephemeralpodfs.limit' | 'ephemeralcontainerfs.limit';
  readonly message: string;
}

function emptyDirExcess(pod: Pod, usage: PodUsage): Excess | undefined {
  for (const { name, emptyDir } of pod.spec.volumes ?? []) {
    const limit = tryParseQuantity(emptyDir?.sizeLimit);
    const used = usage.volumes.get(name);
    if (limit === undefined || used === undefined || quantityValue(limit) <= 0) continue;
    if (exceeds(used.bytes, limit))
      return {
        signal: 'emptydirfs.limit',
        message: `Usage of EmptyDir volume ${JSON.stringify(name)} exceeds the limit "${formatQuantity(limit)}". `,
      };
  }
  return undefined;
}

function podExcess(pod: Pod, usage: PodUsage): Excess | undefined {
  const limit = podResource(pod, 'limits', 'ephemeral-storage');
  if (limit === undefined || !exceeds(podUse(pod, usage, 'ephemeral-storage'), limit)) return undefined;
  return {
    signal: 'ephemeralpodfs.limit',
    message: `Pod ephemeral local storage usage exceeds the total limit of containers ${formatQuantity(limit)}. `,
  };
}

function containerExcess(pod: Pod, usage: PodUsage): Excess | undefined {
  for (const { name, rootfsBytes, logsBytes } of usage.containers) {
    const container = pod.spec.containers.find((c) => c.name === name);
    const limit = tryParseQuantity(container?.resources?.limits?.['ephemeral-storage']);
    if (limit === undefined || quantityValue(limit) === 0) continue;
    if (exceeds(rootfsBytes + logsBytes, limit))
      return {
        signal: 'ephemeralcontainerfs.limit',
        message: `Container ${name} exceeded its local ephemeral storage limit "${formatQuantity(limit)}". `,
      };
  }
  return undefined;
}

/** Whether something that has a limit could not be counted to its end. */
export function hidesFromLimit(pod: Pod, usage: PodUsage): boolean {
  const { containers, volumes, kept = [], memoryIsDisk } = usage;
  const hidden = (pod.spec.volumes ?? []).filter(({ name }) => volumes.get(name)?.uncounted !== undefined);
  if (hidden.some(isSizeLimited)) return true;
  if (podResource(pod, 'limits', 'ephemeral-storage') === undefined) return false;
  return (
    hidden.some((volume) => isOnDisk(volume, memoryIsDisk)) ||
    [...containers, ...kept].some(({ uncounted }) => uncounted !== undefined)
  );
}

export const isSizeLimited = ({ emptyDir }: Volume): boolean => {
  const limit = tryParseQuantity(emptyDir?.sizeLimit);
  return limit !== undefined && quantityValue(limit) > 0;
};

/** Whether there is anything that `storageExcess` would look at. */
export const hasStorageLimit = (pod: Pod): boolean =>
  podResource(pod, 'limits', 'ephemeral-storage') !== undefined ||
  (pod.spec.volumes ?? []).some(isSizeLimited);

/** With upstream's message; undefined: it keeps to its limits. */
export const storageExcess = (pod: Pod, usage: PodUsage): Excess | undefined =>
  emptyDirExcess(pod, usage) ?? podExcess(pod, usage) ?? containerExcess(pod, usage);
