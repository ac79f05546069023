// What a Windows program can do on Linux: the rights and walls of its container, whatever the bundle came with. Pure.
import { maskedPaths, readonlyPaths } from '../../component-helpers/hidden-paths.ts';
import type {
  OciCapabilities,
  OciMount,
  OciNamespace,
  OciProcess,
  OciSeccomp,
  OciSeccompRule,
  OciSpec,
} from './oci-spec.ts';

type OciLinux = NonNullable<OciSpec['linux']>;

/** Windows knows none of Linux' capabilities, and Wine needs none. */
export const noCapabilities: OciCapabilities = {
  bounding: [],
  effective: [],
  permitted: [],
  inheritable: [],
  ambient: [],
};

/**
 * Calls that the runtime's default profile allows and neither Wine nor a program under it makes: files in memory that can be
 * started as programs, the ring that makes calls past the filter, and the old door to sockets, whose arguments no filter sees
 * (Wine's side of Linux is of 64 bits alone).
 */
const neverCalled: ReadonlySet<string> = new Set([
  'execveat',
  'io_uring_enter',
  'io_uring_register',
  'io_uring_setup',
  'memfd_create',
  'memfd_secret',
  'socketcall',
]);

/**
 * Families of sockets that Wine makes: unix, inet, inet6, netlink. Others lead past the pod's network (vsock knows no network
 * namespaces: what listens on the machine or its hypervisor would be reached) or to rarely used code of the kernel.
 */
const families: readonly number[] = [1, 2, 10, 16];
const ofFamilies = (allowed: ReadonlySet<string>): readonly OciSeccompRule[] =>
  families.map((value) => ({
    names: ['socket'].filter((name) => allowed.has(name)),
    action: 'SCMP_ACT_ALLOW',
    args: [{ index: 0, value, valueTwo: 0, op: 'SCMP_CMP_EQ' }],
  }));

/** Which argument of these calls is the mode of a file. Runtimes list `fchmodat2` since containerd 2. */
const modeArguments: Readonly<Record<string, number>> = {
  chmod: 1,
  creat: 1,
  fchmod: 1,
  fchmodat: 2,
  fchmodat2: 2,
  open: 2,
  openat: 3,
};
/** Calls that make a file or change its mode, and those that a kernel to come may have: where the mode is must be known. */
const takesMode = /^([fl]?chmod|creat|mknod|open)/;
const setIdBits = 0o6000;

/**
 * What a pod writes on a volume is its node's root's on disk: a file with set-ID bits would make who starts it there root.
 * Windows knows no such bits and Wine sets none.
 */
const withoutSetId = (allowed: ReadonlySet<string>): readonly OciSeccompRule[] =>
  [1, 2, 3].map((index) => ({
    names: Object.keys(modeArguments).filter((name) => modeArguments[name] === index && allowed.has(name)),
    action: 'SCMP_ACT_ALLOW',
    args: [{ index, value: setIdBits, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
  }));

/**
 * The runtime's default profile without what Wine never calls, sockets it never makes, and set-ID bits. `openat2` goes, too: its mode lies in
 * memory, where no filter looks. A bundle without a profile is refused.
 */
function filterOf(seccomp: OciSeccomp | undefined): OciSeccomp {
  if (seccomp?.defaultAction !== 'SCMP_ACT_ERRNO') {
    throw new Error('a Windows container needs the seccomp profile RuntimeDefault: its bundle has none');
  }
  const given = seccomp.syscalls ?? [];
  const allowed = new Set(given.filter((r) => r.action === 'SCMP_ACT_ALLOW').flatMap(({ names }) => names));
  const others = given.map((rule) => ({
    ...rule,
    names: rule.names.filter((name) => !neverCalled.has(name) && name !== 'socket' && !takesMode.test(name)),
  }));
  const syscalls = [...others, ...ofFamilies(allowed), ...withoutSetId(allowed)].filter(
    ({ names }) => names.length > 0,
  );
  return { ...seccomp, syscalls };
}

const union = (given: readonly string[] | undefined, own: readonly string[]): readonly string[] => [
  ...new Set([...(given ?? []), ...own]),
];

/** What all containers of a pod are in: runc is started there, because from a user namespace it could not get in. */
const ofPod = ['network', 'ipc', 'uts'];

/** Where runc must start; a container without a pod's namespaces would be in the machine's. */
export function podNamespaces(given: readonly OciNamespace[] = []): readonly string[] {
  return ofPod.map((type) => {
    const path = given.find((namespace) => namespace.type === type)?.path;
    if (!path)
      throw new Error(`a Windows container needs the ${type} namespace of a pod: its bundle has none`);
    return path;
  });
}

/** Each container has its own process tree under its own first process, and its own mounts. */
function ownNamespaces(given: readonly OciNamespace[] = [], user: PodUser): readonly OciNamespace[] {
  const others = given.filter(({ type }) => ![...ofPod, 'pid', 'mount', 'user'].includes(type));
  return [{ type: 'pid' }, { type: 'mount' }, ...(user.namespace ? [{ type: 'user' }] : []), ...others];
}

/** Whose a pod's programs and files are on the machine. */
export interface PodUser {
  /** The first of the pod's own ids: its programs are this one. */
  readonly id: number;
  readonly ids: number;
  /** Files of the machine's root are shown as the pod's. */
  readonly ownsFiles: boolean;
  /** The pod's ids are 0 and up in a user namespace of each container. */
  readonly namespace: boolean;
}

/** Files must be open to all where nobody can be shown as their owner: the next pod of a volume is another user. */
export function processUser(user: PodUser): NonNullable<OciProcess['user']> {
  const id = user.namespace ? 0 : user.id;
  return { uid: id, gid: id, ...(user.ownsFiles ? {} : { umask: 0 }) };
}

export function confinedLinux(given: OciLinux | undefined, user: PodUser): OciLinux {
  const { rootfsPropagation: _, devices: __, sysctl: ___, ...linux } = given ?? {};
  const mapping = [{ containerID: 0, hostID: user.id, size: user.ids }];
  return {
    ...linux,
    namespaces: ownNamespaces(linux.namespaces, user),
    ...(user.namespace ? { uidMappings: mapping, gidMappings: mapping } : {}),
    maskedPaths: union(linux.maskedPaths, maskedPaths),
    readonlyPaths: union(linux.readonlyPaths, readonlyPaths),
    seccomp: filterOf(linux.seccomp),
  };
}

/** No mount brings rights with its files. */
export const withoutRights = (mount: OciMount): OciMount => ({
  ...mount,
  options: [...(mount.options ?? []).filter((option) => !/^(no)?suid$|^exec$/.test(option)), 'nosuid'],
});
