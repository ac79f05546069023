// The security settings of a Linux container and sandbox, container before pod. Pure.
import type { Pod, PodSecurityContext, SecurityContext } from '../../api/generated/types/core-v1.ts';
import { maskedPaths, readonlyPaths } from '../../component-helpers/hidden-paths.ts';
import type {
  LinuxContainerSecurityContext,
  LinuxSandboxSecurityContext,
  NamespaceOption,
  SecurityProfile,
} from '../../rpc-api/generated/cri-v1.ts';
import type { AnyContainer } from '../pod-format.ts';
import type { ContainerSettingsInput, ImageUser } from './node-os.ts';

type SeccompProfile = SecurityContext['seccompProfile'];

function seccomp(profile: SeccompProfile, privileged: boolean, root: string): SecurityProfile {
  if (privileged || !profile || profile.type === 'Unconfined') return { profileType: 'Unconfined' };
  if (profile.type === 'RuntimeDefault') return { profileType: 'RuntimeDefault' };
  // The API refuses these, too; a profile is never read from elsewhere than below the node's own folder.
  const name = profile.localhostProfile ?? '';
  if (name === '' || name.startsWith('/') || name.split('/').includes('..') || name.includes('\0')) {
    throw new Error(`localhostProfile ${JSON.stringify(name)} must be a relative path and not contain '..'`);
  }
  return { profileType: 'Localhost', localhostRef: `${root}/${name}` };
}

/** What was asked for by the field or, as before 1.30, by annotation; undefined when nothing was. */
export function appArmorProfile(pod: Pod, container: AnyContainer): SecurityProfile | undefined {
  const field = container.securityContext?.appArmorProfile ?? pod.spec.securityContext?.appArmorProfile;
  if (field) {
    if (field.type === 'Localhost')
      return { profileType: 'Localhost', localhostRef: field.localhostProfile ?? '' };
    return { profileType: field.type === 'Unconfined' ? 'Unconfined' : 'RuntimeDefault' };
  }
  const old = pod.metadata.annotations?.[`container.apparmor.security.beta.kubernetes.io/${container.name}`];
  if (old === undefined || old === '') return undefined;
  if (old.startsWith('localhost/'))
    return { profileType: 'Localhost', localhostRef: old.slice('localhost/'.length) };
  return { profileType: old === 'unconfined' ? 'Unconfined' : 'RuntimeDefault' };
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
  ].map(Number);
}

const value = (n: number | bigint | undefined): { value: number } | undefined =>
  n === undefined ? undefined : { value: Number(n) };

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
  const user = container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
  return user === undefined ? undefined : Number(user);
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
  {
    imageUser,
    targetId,
    seccompRoot,
  }: Pick<ContainerSettingsInput, 'imageUser' | 'targetId' | 'seccompRoot'>,
): LinuxContainerSecurityContext {
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const privileged = own?.privileged === true;
  const user = userOf(pod, container, imageUser);
  const appArmor = appArmorProfile(pod, container);
  const group = own?.runAsGroup ?? shared?.runAsGroup;
  const open = privileged || own?.procMount === 'Unmasked';
  return {
    ...user,
    // The runtime refuses a group without a user.
    ...(group === undefined
      ? {}
      : {
          runAsGroup: { value: Number(group) },
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
    seccomp: seccomp(own?.seccompProfile ?? shared?.seccompProfile, privileged, seccompRoot),
    ...(appArmor ? { apparmor: appArmor } : {}),
  };
}
