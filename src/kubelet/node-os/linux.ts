// A Linux node.

import type { Pod, Taint } from '../../api/generated/types/core-v1.ts';
import { safeSysctls } from '../../component-helpers/safe-sysctls.ts';
import type { LinuxContainerResources } from '../../rpc-api/generated/cri-v1.ts';
import { podText } from '../pod-format.ts';
import * as qos from '../resources/qos.ts';
import { memoryFloors } from './memory-floors.ts';
import type { ContainerResourcesInput, NodeInfoStrings, NodeOs, Rejection } from './node-os.ts';
import * as security from './security-context.ts';

export interface LinuxNodeOptions {
  readonly osImage: string;
  readonly kernelVersion: string;
  /** Default amd64. */
  readonly architecture?: string;
  /** Whether the kernel enforces AppArmor profiles. Default false. */
  readonly appArmor?: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
}

function linuxResources(input: ContainerResourcesInput): LinuxContainerResources {
  const { resources } = input.container;
  const { milliCpu: limit, memoryBytes: memory } = qos.containerLimits(input.pod, input.container);
  return {
    cpuShares: qos.cpuShares(qos.effectiveMilliCpu(resources)),
    ...(limit > 0 ? { cpuPeriod: qos.cpuPeriodUs, cpuQuota: qos.cpuQuotaUs(limit) } : {}),
    ...(memory > 0 ? { memoryLimitInBytes: memory } : {}),
    oomScoreAdj: qos.oomScoreAdjust(input.pod, input.container, input.nodeMemoryBytes),
  };
}

function notLinux(pod: Pod): Rejection | undefined {
  if (pod.spec.os !== undefined && pod.spec.os.name !== 'linux') {
    return {
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    };
  }
  const label = pod.metadata.labels?.['kubernetes.io/os'];
  if (label !== undefined && label !== 'linux') {
    return {
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    };
  }
  return undefined;
}

/** The runtime is never asked for a user namespace: such a pod is refused rather than run as the machine's users. */
const noUserNamespaces = (handler: string): string =>
  handler === ''
    ? "can't set `spec.hostUsers: false`, runtime does not support user namespaces"
    : `can't set \`spec.hostUsers: false\`, RuntimeClass handler ${JSON.stringify(handler)} does not support user namespaces`;

function appArmorRefusal(pod: Pod): Rejection | undefined {
  const containers = [
    ...(pod.spec.initContainers ?? []),
    ...pod.spec.containers,
    ...(pod.spec.ephemeralContainers ?? []),
  ];
  const wanted = containers.some((container) => {
    const profile = security.appArmorProfile(pod, container);
    return profile !== undefined && profile.profileType !== 'Unconfined';
  });
  if (!wanted) return undefined;
  return { reason: 'AppArmor', message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host' };
}

const allowed = safeSysctls();

function unsafeSysctl(pod: Pod): Rejection | undefined {
  const unsafe = (pod.spec.securityContext?.sysctls ?? []).find(
    ({ name }) => !allowed.includes(name.replaceAll('/', '.')),
  );
  return (
    unsafe && { reason: 'SysctlForbidden', message: `forbidden sysctl: "${unsafe.name}" not allowlisted` }
  );
}

/** Its owner's links are followed, as upstream does. */
const hostPlace: NodeOs['hostPlace'] = (path) => {
  if (!path.startsWith('/')) throw new Error(`hostPath ${JSON.stringify(path)} is not an absolute path`);
  return { base: path, path: '', linkFree: false };
};

const sandboxSettings: NodeOs['sandboxSettings'] = (pod, cgroupParent) => ({
  linux: {
    cgroupParent,
    securityContext: security.sandboxSecurityContext(pod),
    sysctls: Object.fromEntries(
      (pod.spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name.replaceAll('/', '.'), value]),
    ),
  },
});

const breaksNonRoot: NodeOs['breaksNonRoot'] = (pod, container, user) => {
  if (!security.effectiveRunAsNonRoot(pod, container)) return undefined;
  const where = `(pod: "${podText(pod)}", container: ${container.name})`;
  const chosen = security.effectiveUser(pod, container);
  if (chosen !== undefined) {
    return chosen === 0 ? `container's runAsUser breaks non-root policy ${where}` : undefined;
  }
  if (user.uid !== undefined ? user.uid === 0 : user.name === '') {
    return `container has runAsNonRoot and image will run as root ${where}`;
  }
  return user.uid === undefined
    ? `container has runAsNonRoot and image has non-numeric user (${user.name}), cannot verify user is non-root ${where}`
    : undefined;
};

export function createLinuxNodeOs(options: LinuxNodeOptions): NodeOs {
  const architecture = options.architecture ?? 'amd64';
  const nodeInfo: NodeInfoStrings = {
    operatingSystem: 'linux',
    architecture,
    osImage: options.osImage,
    kernelVersion: options.kernelVersion,
  };
  return {
    nodeInfo,
    labels: {
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': architecture,
      'beta.kubernetes.io/os': 'linux',
      'beta.kubernetes.io/arch': architecture,
      ...options.labels,
    },
    annotations: {},
    taints: options.taints ?? [],
    admit: (pod) =>
      notLinux(pod) ?? (options.appArmor === true ? undefined : appArmorRefusal(pod)) ?? unsafeSysctl(pod),
    runtimeHandler: (pod, classHandler) => {
      if (pod.spec.hostUsers === false) throw new Error(noUserNamespaces(classHandler));
      return classHandler;
    },
    hostNetwork: (pod) => pod.spec.hostNetwork === true,
    sandboxSettings,
    containerSettings: (input) => ({
      linux: {
        resources: linuxResources(input),
        securityContext: security.containerSecurityContext(input.pod, input.container, input),
      },
    }),
    containerResources: linuxResources,
    breaksNonRoot,
    containerPath: (path) => {
      if (path.includes('\0')) throw new Error('a mount path must not contain a NUL');
      return path.startsWith('/') ? path : `/${path}`;
    },
    hostPlace,
    badFileName: () => undefined,
    imageMismatch: (_pod, image) =>
      image.os === '' || image.os === 'linux'
        ? undefined
        : `image operating system "${image.os}" cannot be used on this platform: operating system is not supported`,
    terminatedReason: (reason) => reason,
    notice: undefined,
    sandboxNotice: () => undefined,
    hostsFile: '/etc/hosts',
    hasFileModes: true,
    hasMountPropagation: true,
    hasMemoryVolumes: true,
    hasPodCgroups: true,
    hasPidPressure: true,
    hugePageSizes: ['1Gi', '2Mi'],
    memoryFloor: memoryFloors.linux,
  };
}
