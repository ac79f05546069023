// The security settings of a Linux container and sandbox, container before pod. Pure.
import type { Pod, PodSecurityContext, SecurityContext } from '../../api/generated/types/core-v1.ts';
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SecurityProfile,
} from '../../rpc-api/generated/cri-v1.ts';
import type { AnyContainer } from '../pod-format.ts';
import type { ImageUser } from './node-os.ts';

/** What runc hides from containers that are not privileged (upstream: securitycontext defaults). */
const maskedPaths: readonly string[] = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const readonlyPaths: readonly string[] = [
  '/proc/bus',
  '/proc/fs',
  '/proc/irq',
  '/proc/sys',
  '/proc/sysrq-trigger',
];

type SeccompProfile = SecurityContext['seccompProfile'];

function seccomp(profile: SeccompProfile, privileged: boolean): SecurityProfile {
  if (privileged || !profile || profile.type === 'Unconfined') return { profileType: 'Unconfined' };
  if (profile.type === 'RuntimeDefault') return { profileType: 'RuntimeDefault' };
  // Only names below the kubelet's own folder: a profile is never read from elsewhere.
  const name = profile.localhostProfile ?? '';
  return { profileType: 'Localhost', localhostRef: `/var/lib/kubelet/seccomp/${name}` };
}

export function namespaceOptions(pod: Pod, targetId?: string): NamespaceOption {
  const pid = pod.spec.hostPID ? 'NODE' : pod.spec.shareProcessNamespace ? 'POD' : 'CONTAINER';
  return {
    network: pod.spec.hostNetwork ? 'NODE' : 'POD',
    pid: targetId !== undefined && pid === 'CONTAINER' ? 'TARGET' : pid,
    ipc: pod.spec.hostIPC ? 'NODE' : 'POD',
    ...(targetId === undefined ? {} : { targetId }),
  };
}

function groups(context: PodSecurityContext | undefined): number[] {
  return [
    ...(context?.fsGroup === undefined ? [] : [context.fsGroup]),
    ...(context?.supplementalGroups ?? []),
  ];
}

const value = (n: number | undefined): { value: number } | undefined =>
  n === undefined ? undefined : { value: n };

export function sandboxSecurityContext(pod: Pod): LinuxSandboxSecurityContext {
  const context = pod.spec.securityContext;
  return {
    namespaceOptions: namespaceOptions(pod),
    privileged: [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some(
      (c) => c.securityContext?.privileged === true,
    ),
    runAsUser: value(context?.runAsUser),
    runAsGroup: context?.runAsUser === undefined ? undefined : value(context.runAsGroup),
    supplementalGroups: groups(context),
    supplementalGroupsPolicy: context?.supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge',
    seccomp: { profileType: 'RuntimeDefault' },
  };
}

/** The user a container runs as: its own choice, the pod's, the image's. */
export function effectiveUser(pod: Pod, container: AnyContainer): number | undefined {
  return container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
}

export const effectiveRunAsNonRoot = (pod: Pod, container: AnyContainer): boolean =>
  container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot ?? false;

function userOf(
  pod: Pod,
  container: AnyContainer,
  image: ImageUser,
): Pick<LinuxContainerSecurityContext, 'runAsUser' | 'runAsUsername'> {
  const chosen = effectiveUser(pod, container) ?? image.uid;
  if (chosen !== undefined) return { runAsUser: { value: chosen } };
  return image.name === '' ? {} : { runAsUsername: image.name };
}

/** `all` and `CAP_X` as the runtime wants them. */
const capability = (name: string): string => name.toUpperCase().replace(/^CAP_/, '');

export function containerSecurityContext(
  pod: Pod,
  container: AnyContainer,
  image: ImageUser,
  targetId: string | undefined,
): LinuxContainerSecurityContext {
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const privileged = own?.privileged === true;
  const user = userOf(pod, container, image);
  const group = own?.runAsGroup ?? shared?.runAsGroup;
  const open = privileged || own?.procMount === 'Unmasked';
  return {
    ...user,
    // The runtime refuses a group without a user.
    ...(group === undefined
      ? {}
      : {
          runAsGroup: { value: group },
          ...(user.runAsUser || user.runAsUsername ? {} : { runAsUser: { value: 0 } }),
        }),
    privileged,
    capabilities: {
      addCapabilities: (own?.capabilities?.add ?? []).map(capability),
      dropCapabilities: (own?.capabilities?.drop ?? []).map(capability),
    },
    namespaceOptions: namespaceOptions(pod, targetId),
    readonlyRootfs: own?.readOnlyRootFilesystem === true,
    noNewPrivs: own?.allowPrivilegeEscalation === false,
    supplementalGroups: groups(shared),
    supplementalGroupsPolicy: shared?.supplementalGroupsPolicy === 'Strict' ? 'Strict' : 'Merge',
    maskedPaths: open ? [] : maskedPaths,
    readonlyPaths: open ? [] : readonlyPaths,
    seccomp: seccomp(own?.seccompProfile ?? shared?.seccompProfile, privileged),
  };
}
