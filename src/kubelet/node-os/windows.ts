// A Windows node: a real one, or one that is emulated on Linux and says so everywhere.
import { hasPodLevelResources } from '../../api/core/v1/pod-resources.ts';
import type { Pod, Taint, WindowsSecurityContextOptions } from '../../api/generated/types/core-v1.ts';
import {
  emulatedIsolationAnnotation,
  emulatedNodeLabel,
  hostProcessAnnotation,
  runAsUserNameAnnotation,
  windowsRuntimeHandlers,
} from '../../component-helpers/emulated-windows.ts';
import { maskedPaths, readonlyPaths } from '../../component-helpers/hidden-paths.ts';
import { matchWindowsImage, windowsBuildLabel } from '../../component-helpers/windows-image-match.ts';
import type {
  LinuxContainerResources,
  WindowsContainerResources,
  WindowsContainerSecurityContext,
} from '../../rpc-api/generated/cri-v1.ts';
import { type AnyContainer, podText } from '../pod-format.ts';
import * as qos from '../resources/qos.ts';
import { memoryFloors } from './memory-floors.ts';
import type { ContainerSettingsInput, ImageUser, NodeOs, Rejection } from './node-os.ts';
import { badWindowsFileName, pathOnDriveC, windowsContainerPath } from './windows-path.ts';

export interface WindowsNodeOptions {
  readonly build: number;
  /** `Windows Server 2022 Datacenter`; an emulated node's gets a mark. */
  readonly osImage: string;
  /** `10.0.20348.4405`. */
  readonly kernelVersion: string;
  /** Programs run by Wine on Linux. */
  readonly emulated: boolean;
  /** Nothing runs there, so HostProcess pods want no Windows host either. */
  readonly simulated?: boolean;
  /** The folder of this machine that is the node's drive C:. */
  readonly hostDrive: string;
  /** What the emulation runs on, shown in the annotation. */
  readonly emulatedOn?: string;
  /** How its pods are kept apart from the machine, shown in an annotation. */
  readonly isolation?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Default none: pods find their nodes by selector, spec.os or image. */
  readonly taints?: readonly Taint[];
}

/** What upstream recommends where Linux pods name no system. */
export const windowsTaint: Taint = { key: 'os', value: 'windows', effect: 'NoSchedule' };
/** Upstream's pause image runs as this one. */
const pauseUser = 65535;
const rootUserName = 'ContainerAdministrator';

/** Container overrides pod; the two GMSA fields override together. */
function windowsOptions(pod: Pod, container: AnyContainer): WindowsSecurityContextOptions {
  const shared = pod.spec.securityContext?.windowsOptions ?? {};
  const own = container.securityContext?.windowsOptions ?? {};
  const gmsa =
    own.gmsaCredentialSpec !== undefined || own.gmsaCredentialSpecName !== undefined ? own : shared;
  return {
    gmsaCredentialSpec: gmsa.gmsaCredentialSpec,
    gmsaCredentialSpecName: gmsa.gmsaCredentialSpecName,
    runAsUserName: own.runAsUserName ?? shared.runAsUserName,
    hostProcess: own.hostProcess ?? shared.hostProcess,
  };
}

const isHostProcessPod = (pod: Pod): boolean =>
  pod.spec.containers.some((c) => windowsOptions(pod, c).hostProcess === true);

/** Wine has no Windows host to run them on; said at once, before a sandbox fails without a reason. */
const noHostProcess: Rejection = {
  reason: 'HostProcessNotSupported',
  message:
    'Failed to admit pod as HostProcess containers need a real Windows node: an emulated node has no Windows host to run them on',
};

/** Windows has no group of a pod's containers that could hold a limit. */
const noPodLevelResources: Rejection = {
  reason: 'PodLevelResourcesNotSupported',
  message: 'spec.resources: pod-level resources are not supported on Windows nodes',
};

function admit(pod: Pod): Rejection | undefined {
  if (hasPodLevelResources(pod)) return noPodLevelResources;
  if (pod.spec.os !== undefined && pod.spec.os.name !== 'windows') {
    return {
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    };
  }
  const label = pod.metadata.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== 'windows') {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  return undefined;
}

/** Only limits count; requests are for the scheduler. */
function windowsResources(input: ContainerSettingsInput): WindowsContainerResources {
  const limits = input.container.resources?.limits;
  const milli = qos.milliCpuOf(limits);
  const memory = qos.memoryOf(limits);
  const maximum = Math.min(Math.max(Math.trunc((10 * milli) / Math.max(input.nodeCpuCount, 1)), 1), 10_000);
  return {
    ...(milli > 0 ? { cpuMaximum: maximum } : {}),
    ...(memory > 0 ? { memoryLimitInBytes: memory } : {}),
  };
}

// Windows knows no shared network except for HostProcess containers.
const hasHostNetwork = (pod: Pod): boolean => pod.spec.hostNetwork === true && isHostProcessPod(pod);

function sandboxOf(pod: Pod): object {
  const name = pod.spec.securityContext?.windowsOptions?.runAsUserName;
  return {
    securityContext: {
      hostProcess: isHostProcessPod(pod),
      ...(name === undefined ? {} : { runAsUsername: name }),
    },
  };
}

function emulatedSandbox(pod: Pod, cgroupParent: string): object {
  return {
    cgroupParent,
    securityContext: {
      namespaceOptions: { network: hasHostNetwork(pod) ? 'NODE' : 'POD', pid: 'CONTAINER', ipc: 'POD' },
      // The pause program of a Windows pod needs no right at all.
      runAsUser: { value: pauseUser },
      seccomp: { profileType: 'RuntimeDefault' },
    },
  };
}

/** The same limits as a cgroup. Every container weighs the same, as on Windows without CpuShares. */
function emulatedResources(input: ContainerSettingsInput): LinuxContainerResources {
  const { cpuMaximum = 0, memoryLimitInBytes = 0 } = windowsResources(input);
  const milli = (cpuMaximum * input.nodeCpuCount) / 10;
  return {
    cpuShares: 1024,
    ...(milli > 0 ? { cpuPeriod: qos.cpuPeriodUs, cpuQuota: qos.cpuQuotaUs(milli) } : {}),
    ...(memoryLimitInBytes > 0 ? { memoryLimitInBytes } : {}),
    oomScoreAdj: 0,
  };
}

function securityOf(input: ContainerSettingsInput): WindowsContainerSecurityContext {
  const options = windowsOptions(input.pod, input.container);
  const user = options.runAsUserName ?? input.imageUser.name;
  return {
    ...(user === '' ? {} : { runAsUsername: user }),
    ...(options.gmsaCredentialSpec === undefined ? {} : { credentialSpec: options.gmsaCredentialSpec }),
    hostProcess: options.hostProcess === true,
  };
}

function emulatedSettings(
  input: ContainerSettingsInput,
  { runAsUsername = '', hostProcess }: WindowsContainerSecurityContext,
): object {
  return {
    annotations: {
      ...(runAsUsername === '' ? {} : { [runAsUserNameAnnotation]: runAsUsername }),
      ...(hostProcess ? { [hostProcessAnnotation]: 'true' } : {}),
    },
    linux: {
      resources: emulatedResources(input),
      // A Windows user name means nothing to Linux: the handler gives the program its user, and sees to the rest as well.
      securityContext: {
        runAsUser: { value: 0 },
        namespaceOptions: { network: 'POD', pid: 'CONTAINER', ipc: 'POD' },
        capabilities: { dropCapabilities: ['ALL'] },
        noNewPrivs: true,
        maskedPaths,
        readonlyPaths,
        seccomp: { profileType: 'RuntimeDefault' },
      },
    },
  };
}

function breaksNonRoot(pod: Pod, container: AnyContainer, user: ImageUser): string | undefined {
  const wanted = container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot ?? false;
  if (!wanted) return undefined;
  const where = `(pod: "${podText(pod)}", container: ${container.name})`;
  const own = windowsOptions(pod, container).runAsUserName;
  const isRoot = (name: string): boolean => name.toLowerCase() === rootUserName.toLowerCase();
  const why = `which will be regarded as root identity and will break non-root policy ${where}`;
  if (own !== undefined) return isRoot(own) ? `container's runAsUserName (${own}) ${why}` : undefined;
  return isRoot(user.name) ? `image's runAsUserName (${user.name}) ${why}` : undefined;
}

function isolationOf(pod: Pod, handler: string): 'process' | 'hyperv' | 'host-process' {
  if (isHostProcessPod(pod)) return 'host-process';
  return handler === windowsRuntimeHandlers.hyperv ? 'hyperv' : 'process';
}

const labelsOf = ({ build, emulated, labels }: WindowsNodeOptions): Record<string, string> => ({
  'kubernetes.io/os': 'windows',
  'kubernetes.io/arch': 'amd64',
  'beta.kubernetes.io/os': 'windows',
  'beta.kubernetes.io/arch': 'amd64',
  'node.kubernetes.io/windows-build': windowsBuildLabel(build),
  ...(emulated ? { [emulatedNodeLabel]: 'true' } : {}),
  ...labels,
});

export function createWindowsNodeOs(options: WindowsNodeOptions): NodeOs {
  const { build, emulated } = options;
  const lacksHost = emulated && options.simulated !== true;
  return {
    nodeInfo: {
      operatingSystem: 'windows',
      architecture: 'amd64',
      osImage: emulated ? `${options.osImage} (emulated by Porthole)` : options.osImage,
      kernelVersion: options.kernelVersion,
    },
    labels: labelsOf(options),
    annotations: {
      ...(emulated ? { 'porthole.dev/emulated-on': options.emulatedOn ?? 'linux, wine' } : {}),
      ...(options.isolation === undefined ? {} : { [emulatedIsolationAnnotation]: options.isolation }),
    },
    taints: options.taints ?? [],
    admit: (pod) => admit(pod) ?? (lacksHost && isHostProcessPod(pod) ? noHostProcess : undefined),
    runtimeHandler: (_pod, classHandler) =>
      classHandler === '' ? windowsRuntimeHandlers.process : classHandler,
    hostNetwork: hasHostNetwork,
    sandboxSettings: (pod, cgroupParent) => ({
      windows: sandboxOf(pod),
      ...(emulated ? { linux: emulatedSandbox(pod, cgroupParent) } : {}),
    }),
    containerSettings: (input) => {
      const securityContext = securityOf(input);
      return {
        windows: { resources: windowsResources(input), securityContext },
        ...(emulated ? emulatedSettings(input, securityContext) : {}),
      };
    },
    breaksNonRoot,
    containerPath: windowsContainerPath,
    hostPlace: (path) => ({ base: options.hostDrive, path: pathOnDriveC(path), linkFree: true }),
    badFileName: badWindowsFileName,
    imageMismatch: (pod, image, handler) => {
      if (image.os !== '' && image.os !== 'windows') {
        return `image operating system "${image.os}" cannot be used on this platform: operating system is not supported`;
      }
      const match = matchWindowsImage(build, image.osVersion, isolationOf(pod, handler));
      return match.fits ? undefined : match.reason;
    },
    // There is no OOM killer on Windows: a program that gets no memory fails by itself.
    terminatedReason: (reason) => (reason === 'OOMKilled' ? 'Error' : reason),
    notice: emulated
      ? `This Windows node is emulated (${options.emulatedOn ?? 'linux, wine'}): its programs run under Wine in Linux containers.`
      : undefined,
    sandboxNotice: (handler) =>
      emulated && handler === windowsRuntimeHandlers.hyperv
        ? 'Hyper-V isolation is emulated: the pod runs in containers of the same kernel as all others.'
        : undefined,
    hostsFile: 'C:\\Windows\\System32\\drivers\\etc\\hosts',
    hasFileModes: false,
    hasMountPropagation: false,
    hasMemoryVolumes: false,
    hasPodCgroups: false,
    hasPidPressure: false,
    hugePageSizes: [],
    memoryFloor: memoryFloors.windows,
  };
}
