// What runs the pods of a node, as a port: containerd on this machine, or a simulation that touches nothing of it.
import type { Cgroups } from '../os/cgroups.ts';
import type { DiskUsage } from '../os/stats.ts';
import type { Cri } from '../rpc-api/cri.ts';
import type { MeasurePodsDeps, PodMeter } from './eviction/measure-pods.ts';
import type { ImagePlatformFacts } from './node-os/node-os.ts';
import type { PodStorage } from './pod-storage.ts';
import type { NodeProberDeps } from './prober/node-prober.ts';
import type { Prober } from './prober/prober.ts';
import type { PullRecords } from './runtime/pull-records.ts';
import type { NodeVolumeManagerDeps } from './volumes/node-volume-manager.ts';
import type { VolumeManager } from './volumes/volume-manager.ts';

export type VolumeManagerDeps = Omit<NodeVolumeManagerDeps, 'host' | 'podDir'>;
export type MeterDeps = Pick<MeasurePodsDeps, 'clock' | 'log' | 'runtime' | 'hasMemoryVolumes' | 'active'>;

export interface NodeDisks {
  /** Where the files of pods are. */
  readonly node: DiskUsage;
  /** Where images and what containers write are. */
  readonly images: DiskUsage;
}

export interface NodeRuntime {
  readonly cri: Cri;
  /** What is not the real thing, as an event of the node; undefined: nothing. */
  readonly notice: { readonly reason: string; readonly message: string } | undefined;
  /** The files of pods that are no volumes. */
  readonly storage: PodStorage;
  readonly pullRecords: PullRecords;
  /** Absent: pods have none. */
  readonly cgroups: Cgroups | undefined;
  /** Prefix of the pods' cgroups, '' for `/kubepods`. */
  readonly cgroupRoot: string;
  /** Folder of the node's seccomp profiles, as upstream's /var/lib/kubelet/seccomp. */
  readonly seccompRoot: string;
  disks(): Promise<NodeDisks>;
  /** Why this node can make no pod, beside what the CRI says of itself: it is NotReady meanwhile. */
  problems(): readonly string[];
  /** All 32 bits of an exit code, where the CRI's answer has eight; undefined: that answer is all there is. */
  fullExitCode(containerId: string): Promise<number | undefined>;
  /** What an image's configuration says of its platform; undefined when it can't be told. */
  imagePlatform(imageId: string): Promise<ImagePlatformFacts | undefined>;
  /** What `docker login` wrote for the node as a whole, read with each pull; undefined: nothing. */
  registryLogins(): Promise<string | undefined>;
  volumes(deps: VolumeManagerDeps): VolumeManager;
  prober(deps: NodeProberDeps): Prober;
  /** Undefined: pods take nothing of the machine, so none is ended for the sake of it. */
  meter(deps: MeterDeps): PodMeter | undefined;
}
