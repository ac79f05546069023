// What every part of one kubelet shares.
import { pods } from '../api/generated/resources.ts';
import type { Pod, Service } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Lister } from '../client/cache/informer.ts';
import type { Client } from '../client/client.ts';
import { type EventRecorder, referenceTo } from '../client/event-recorder.ts';
import type { Logger } from '../component-base/logger.ts';
import type { Cgroups } from '../os/cgroups.ts';
import type { MachineInfo } from '../os/stats.ts';
import type { Cri } from '../rpc-api/cri.ts';
import type { PassDurations } from './metrics/pass-durations.ts';
import type { NodeOs } from './node-os/node-os.ts';
import { containerFieldPath } from './pod-format.ts';
import type { PodStorage } from './pod-storage.ts';
import type { Prober } from './prober/prober.ts';
import type { Commands } from './runtime/commands.ts';
import type { ClusterDns } from './runtime/dns-config.ts';
import type { ObjectSource } from './runtime/env-vars.ts';
import type { FieldContext } from './runtime/field-ref.ts';
import type { ImagePuller } from './runtime/image-puller.ts';
import type { RuntimeFeatures } from './runtime/runtime-features.ts';
import type { StatusManager } from './status-manager.ts';
import type { VolumeManager } from './volumes/volume-manager.ts';

export interface KubeletContext {
  readonly client: Client;
  readonly cri: Cri;
  readonly nodeOs: NodeOs;
  readonly nodeName: string;
  readonly nodeIPs: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly services: Lister<Service>;
  readonly objects: ObjectSource;
  readonly storage: PodStorage;
  readonly volumes: VolumeManager;
  readonly images: ImagePuller;
  readonly status: StatusManager;
  readonly prober: Prober;
  readonly commands: Commands;
  readonly passes: PassDurations;
  /** Absent: pods have none. */
  readonly cgroups: Cgroups | undefined;
  readonly cgroupRoot: string;
  /** Folder of the node's seccomp profiles, as upstream's /var/lib/kubelet/seccomp. */
  readonly seccompRoot: string;
  /** Of one pod; -1 is no limit. */
  readonly podPidsLimit: number;
  readonly dns: ClusterDns;
  readonly runtimeFeatures: RuntimeFeatures;
  readonly machine: MachineInfo;
  readonly allocatable: FieldContext['allocatable'];
  /** `containerd`: the scheme of container ids. */
  readonly runtimeName: string;
  /** All 32 bits of a container's exit code where the runtime shows only eight (emulated Windows). */
  readonly fullExitCode: (containerId: string) => Promise<number | undefined>;
  /** Handler of a RuntimeClass; throws Error when there is no such class. */
  readonly runtimeClassHandler: (name: string) => Promise<string>;
  /** What an image's configuration says of its platform; undefined when it can't be told. */
  readonly imagePlatform: (
    imageId: string,
  ) => Promise<
    { readonly os: string; readonly architecture: string; readonly osVersion: string } | undefined
  >;
}

export function podEvent(
  context: Pick<KubeletContext, 'recorder'>,
  pod: Pod,
  event: {
    readonly type: 'Normal' | 'Warning';
    readonly reason: string;
    readonly message: string;
    readonly container?: string;
  },
): void {
  const path = event.container === undefined ? undefined : containerFieldPath(pod, event.container);
  context.recorder.event(referenceTo(pods, pod, path), event.type, event.reason, event.message);
}
