// What differs between a Linux and a Windows node, as a port: admission, handlers, paths, security and resources.
import type { Pod, Taint } from '../../api/generated/types/core-v1.ts';
import type { Place } from '../../os/beneath.ts';
import type {
  ContainerConfig,
  LinuxContainerResources,
  PodSandboxConfig,
} from '../../rpc-api/generated/cri-v1.ts';
import type { AnyContainer } from '../pod-format.ts';

export interface NodeInfoStrings {
  readonly operatingSystem: 'linux' | 'windows';
  readonly architecture: string;
  readonly osImage: string;
  readonly kernelVersion: string;
}

export interface Rejection {
  readonly reason: string;
  readonly message: string;
}

/** The image's own user, as the runtime tells it. */
export interface ImageUser {
  readonly uid: number | undefined;
  readonly name: string;
}

/** What an image's configuration blob says of where it runs. */
export interface ImagePlatformFacts {
  readonly os: string;
  readonly architecture: string;
  readonly osVersion: string;
}

export interface ContainerResourcesInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly nodeMemoryBytes: number;
}

export interface ContainerSettingsInput extends ContainerResourcesInput {
  readonly imageUser: ImageUser;
  /** Folder of the node's seccomp profiles. */
  readonly seccompRoot: string;
  readonly nodeCpuCount: number;
  /** Container id of an ephemeral container's target. */
  readonly targetId?: string | undefined;
}

/** Where a path that a manifest calls the node's lies on this machine. */
export interface HostPlace extends Place {
  /** Pods share it and may plant links in it: none is followed, so that nothing outside `base` is reached. */
  readonly linkFree: boolean;
}

export interface NodeOs {
  readonly nodeInfo: NodeInfoStrings;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  /** Undefined: the pod may run on a node of this system. */
  admit(pod: Pod): Rejection | undefined;
  /** `classHandler`: of the pod's RuntimeClass, '' without one. Throws Error when it can't hold the pod. */
  runtimeHandler(pod: Pod, classHandler: string): string;
  /** Whether the pod lives in the node's network. */
  hostNetwork(pod: Pod): boolean;
  sandboxSettings(pod: Pod, cgroupParent: string): Partial<PodSandboxConfig>;
  containerSettings(input: ContainerSettingsInput): Partial<ContainerConfig>;
  /** What a container of the pod may take, as it can be changed while it runs; undefined: it can't. */
  containerResources?(input: ContainerResourcesInput): LinuxContainerResources;
  /** The text of a refusal of runAsNonRoot. */
  breaksNonRoot(pod: Pod, container: AnyContainer, user: ImageUser): string | undefined;
  /** A mount path as the runtime wants it; throws Error when it can't be one. */
  containerPath(path: string): string;
  /** Where a path of the node is; throws Error when it names none. */
  hostPlace(path: string): HostPlace;
  /** Why no file of a volume can have this relative path, beyond what no node allows; undefined when it can. */
  badFileName(path: string): string | undefined;
  /** Why an image can't run here; undefined when it can. */
  imageMismatch(pod: Pod, image: ImagePlatformFacts, handler: string): string | undefined;
  /** The reason that a terminated container shows. */
  terminatedReason(reason: string, exitCode: number): string;
  /** What is not the real thing on this node, for events; undefined: nothing. */
  readonly notice: string | undefined;
  /** The same of one pod's sandbox. */
  sandboxNotice(handler: string): string | undefined;
  readonly hostsFile: string;
  /** False: defaultMode, mode, fsGroup and ownership have no effect. */
  readonly hasFileModes: boolean;
  /** False: what is mounted in a container or on the node stays where it was mounted. */
  readonly hasMountPropagation: boolean;
  /** False: volumes in memory are folders on disk. */
  readonly hasMemoryVolumes: boolean;
  /** False: pods get no cgroup parent with limits of their own. */
  readonly hasPodCgroups: boolean;
  /** False: the node is never short of process ids. */
  readonly hasPidPressure: boolean;
  /** Sizes of huge pages of which the node tells how many it has. */
  readonly hugePageSizes: readonly string[];
  /** Free memory that is kept by default: below it pods are evicted. */
  readonly memoryFloor: string;
}
