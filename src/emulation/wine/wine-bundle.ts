// Turns the OCI bundle of a Windows container into one that runs it under Wine: specification in, specification out. Pure.
import { hostProcessAnnotation, runAsUserNameAnnotation } from '../../component-helpers/emulated-windows.ts';
import { parseWindowsPath } from '../../component-helpers/windows-path.ts';
import { confinedLinux, type PodUser, podNamespaces, withoutRights } from './confinement.ts';
import {
  type FolderReader,
  findFolder,
  isWindowsBaseLayer,
  type SnapshotMount,
  spellAsOnDisk,
} from './image-layers.ts';
import type { OciMount, OciSpec } from './oci-spec.ts';
import type { UserRange } from './pod-users.ts';
import { type PlannedMount, stageMounts } from './staged-mounts.ts';
import { driveC, exitCodeMount, ownPrograms, winePrefix } from './wine-paths.ts';
import { accountOf, wineProcess } from './wine-process.ts';

/** What the handler is told once, when the node is set up. */
export interface HandlerConfig {
  readonly runc: string;
  readonly runtimeRoot: string;
  readonly prefix: string;
  readonly hideWindows: string;
  readonly hideSystem: string;
  readonly programsDir: string;
  /** Own files of this node's handler: `containers/<id>` while one exists, `exit-codes/<id>` after it. */
  readonly stateDir: string;
  /** The ids of this node's pods, and what the kernel can do with them. */
  readonly users: UserRange & Pick<PodUser, 'ownsFiles' | 'namespace'>;
}

export interface BundleInput {
  readonly spec: OciSpec;
  readonly config: HandlerConfig;
  readonly bundle: string;
  readonly id: string;
  /** The first of the pod's ids. */
  readonly firstId: number;
  /** The mounted root file system of the bundle, absolute. */
  readonly rootfs: string;
  /** The overlay that it is, when it is one. */
  readonly snapshot: SnapshotMount | undefined;
  readonly reader: FolderReader;
  readonly readText: (path: string) => string | undefined;
}

export interface BundlePlan {
  readonly spec: OciSpec;
  /** To be made, with their parents. */
  readonly directories: readonly string[];
  /** Those of them, and files, that the pod's user writes. */
  readonly owned: readonly string[];
  /** Who that is. */
  readonly owner: PodUser;
  /** To be written, path to text. */
  readonly files: ReadonlyMap<string, string>;
  /** What `exec` needs to know later. */
  readonly container: ContainerState;
}

export interface ContainerState {
  readonly user: string;
  readonly owner: PodUser;
  /** The working directory as the image or pod wrote it, and where it is. */
  readonly cwd: { readonly written: string; readonly path: string };
}

/** What windows-mounts is told, in the bundle. */
export const mountPlanFile = 'porthole-mounts';

const systemMounts = new Set(['/proc', '/dev', '/dev/pts']);
const networkFiles = new Set(['/etc/hosts', '/etc/resolv.conf', '/etc/hostname']);
const hostsInWindows = ['windows', 'system32', 'drivers', 'etc', 'hosts'];

export function planBundle(input: BundleInput): BundlePlan {
  const { spec, config, id } = input;
  const process = spec.process;
  if (!process) throw new Error('the specification has no process');
  if (spec.annotations?.[hostProcessAnnotation] === 'true') {
    throw new Error(
      'HostProcess containers need a real Windows node: an emulated node has no Windows host to run them on',
    );
  }
  const user = accountOf(spec.annotations?.[runAsUserNameAnnotation] ?? process.user?.username);
  const storage = planStorage(input);
  const spell = (parts: readonly string[]): string =>
    [driveC, ...spellAsOnDisk(input.reader, storage.roots, parts)].join('/');
  const cwd = spell(partsOf(process.cwd ?? '/', 'working directory'));
  const volumes = planVolumes(spec.mounts ?? [], spell);
  const hosts = planHosts(input, volumes.hosts);
  const exitCode = `${config.stateDir}/exit-codes/${id}`;
  const owner = ownerOf(input);
  const container: ContainerState = { user, owner, cwd: { written: process.cwd ?? '/', path: cwd } };
  const stage = `${input.bundle}/windows/mounts`;
  const owners = owner.ownsFiles ? { first: owner.id, count: owner.ids } : undefined;
  // Drive C: is the image's and the pod's, so it comes first: whatever it holds, nothing of it lies over the walls that follow.
  const staged = stageMounts(stage, owners, podNamespaces(spec.linux?.namespaces), [
    ...storage.mounts,
    ...hosts.mounts,
    ...volumes.mounts,
    { kind: 'folder', destination: cwd },
    ...(spec.mounts ?? []).filter(isSystemMount).map(given),
    ...machineFacts,
    ...(spec.mounts ?? []).filter(isSharedMount).map(shared),
    { kind: 'made', mount: tmpfs('/tmp') },
    bind(exitCode, exitCodeMount, false),
    bind(config.programsDir, ownPrograms, true),
  ]);
  const folders = owner.ownsFiles ? [] : ownFolders(storage.upper, cwd);
  return {
    container,
    owner,
    owned: [...storage.owned, ...(owner.ownsFiles ? [] : [...folders, exitCode])],
    directories: [
      ...storage.directories,
      ...folders,
      stage,
      `${config.stateDir}/containers`,
      `${config.stateDir}/entries`,
      `${config.stateDir}/exit-codes`,
    ],
    files: new Map([
      ...hosts.files,
      [exitCode, ''],
      [`${config.stateDir}/containers/${id}`, JSON.stringify(container)],
      [`${input.bundle}/${mountPlanFile}`, staged.plan],
      [`${config.stateDir}/entries/${id}`, `enter-pod\t${input.bundle}/init.pid\n`],
    ]),
    spec: {
      ...withoutHostname(spec),
      process: wineProcess(process, { user, owner, cwd, first: true }),
      root: { path: config.runtimeRoot, readonly: true },
      mounts: staged.mounts,
      linux: confinedLinux(spec.linux, owner),
    },
  };
}

/** The pod has it already; runc can set none in a namespace that is not the container's own. */
function withoutHostname({ hostname: _, ...spec }: OciSpec): OciSpec {
  return spec;
}

function ownerOf({ config, firstId }: BundleInput): PodUser {
  const { idsOfPod, ownsFiles, namespace } = config.users;
  return { id: firstId, ids: idsOfPod, ownsFiles, namespace };
}

/** Where nobody can be shown as the owner of image files, these folders at least are the pod's: home, data, where it works. */
function ownFolders(upper: string, cwd: string): readonly string[] {
  const users = ['ContainerAdministrator', 'ContainerUser'].flatMap((user) =>
    ['', '/AppData', '/AppData/Local', '/AppData/Local/Temp'].map((path) => `Users/${user}${path}`),
  );
  const work = cwd.slice(driveC.length + 1).split('/');
  const parents = work.map((_, index) => work.slice(0, index + 1).join('/'));
  return ['Users', ...users, 'ProgramData', ...parents]
    .filter((path) => path !== '')
    .map((path) => `${upper}/Files/${path}`);
}

function partsOf(path: string, what: string): readonly string[] {
  const parsed = parseWindowsPath(path);
  if ('error' in parsed) throw new Error(`${what}: ${parsed.error}`);
  return parsed.parts;
}

const tmpfs = (destination: string, ...options: string[]): OciMount => ({
  destination,
  type: 'tmpfs',
  source: 'tmpfs',
  options: ['nosuid', 'nodev', 'mode=1777', ...options],
});

const bind = (source: string, destination: string, readOnly: boolean): PlannedMount => ({
  kind: 'bind',
  destination,
  source,
  readOnly,
});

/** The number of processors is all that a program needs of /sys. */
const machineFacts: readonly PlannedMount[] = [
  { kind: 'made', mount: tmpfs('/sys', 'noexec', 'ro') },
  bind('/sys/devices/system/cpu', '/sys/devices/system/cpu', true),
];

const isSystemMount = (mount: OciMount): boolean =>
  mount.type !== 'bind' && systemMounts.has(mount.destination);
const given = (mount: OciMount): PlannedMount => ({ kind: 'made', mount: withoutRights(mount) });

/** What the containers of a pod share by Linux' names. */
const isSharedMount = ({ destination }: OciMount): boolean =>
  destination === '/dev/shm' || (networkFiles.has(destination) && destination !== '/etc/hosts');
/** No program of Windows writes Linux' files of the network; they lie on the node's disk, where nobody counts them. */
const shared = ({ destination, source = '', options = [] }: OciMount): PlannedMount =>
  bind(source, destination, networkFiles.has(destination) || options.includes('ro'));

interface StoragePlan {
  readonly mounts: readonly PlannedMount[];
  readonly directories: readonly string[];
  readonly owned: readonly string[];
  readonly upper: string;
  /** The folders that C: consists of, for finding names. */
  readonly roots: readonly string[];
}

/** Wine's prefix, and C: as an overlay of the image's layers over the template; C:\Windows is the template's. */
function planStorage(input: BundleInput): StoragePlan {
  const { config, reader, snapshot } = input;
  const layers = snapshot?.layers ?? [input.rootfs];
  const upper = snapshot?.upper ?? `${input.bundle}/windows/changes`;
  const work = snapshot
    ? `${snapshot.upper.replace(/\/[^/]+$/, '')}/porthole-work`
    : `${input.bundle}/windows/work`;
  const template = `${config.prefix}/drive_c`;
  const below = (from: readonly string[], ...parts: string[]): readonly string[] =>
    from.map((layer) => findFolder(reader, layer, parts)).filter((folder) => folder !== undefined);

  const directories: string[] = [];
  const owned: string[] = [];
  const overlay = (destination: string, name: string, lowers: readonly string[]): PlannedMount => {
    const [upperDir, workDir] = [`${upper}/${name}`, `${work}/${name}`];
    directories.push(upperDir, workDir);
    owned.push(upperDir);
    return { kind: 'overlay', destination, lowers, upper: upperDir, work: workDir };
  };

  const files = below(layers, 'Files');
  const mounts = [
    overlay(winePrefix, 'Prefix', [config.prefix]),
    overlay(driveC, 'Files', [config.hideWindows, ...files, template]),
  ];
  const own = layers.filter((layer) => !isWindowsBaseLayer(reader, layer));
  const windows = below(own, 'Files', 'Windows');
  if (windows.length > 0 || files.some((folder) => reader.names(folder).includes('windows'))) {
    const system = below(own, 'Files', 'Windows', 'System32');
    mounts.push(
      overlay(`${driveC}/windows`, 'Windows', [config.hideSystem, `${template}/windows`, ...windows]),
      overlay(`${driveC}/windows/system32`, 'System32', [`${template}/windows/system32`, ...system]),
    );
  }
  return { mounts, directories, owned, upper, roots: [template, ...files] };
}

/** The hosts file that the node agent brings, or the pod's own volume in its place. */
interface HostsSource {
  readonly source: string;
  readonly readOnly: boolean;
}

interface VolumePlan {
  readonly mounts: readonly PlannedMount[];
  readonly hosts: HostsSource | undefined;
}

function planVolumes(mounts: readonly OciMount[], spell: (parts: readonly string[]) => string): VolumePlan {
  const planned: { readonly mount: PlannedMount; readonly depth: number }[] = [];
  let hosts: HostsSource | undefined;
  for (const mount of mounts) {
    const readOnly = (mount.options ?? []).includes('ro');
    const asHosts = mount.source === undefined ? undefined : { source: mount.source, readOnly };
    if (mount.destination === '/etc/hosts') hosts ??= asHosts;
    if (mount.type !== 'bind' || isSharedMount(mount) || mount.destination === '/etc/hosts') continue;
    const parts = partsOf(mount.destination, 'mount');
    if (parts.length === 0)
      throw new Error(`mount: ${JSON.stringify(mount.destination)} is the root of drive C:`);
    if (parts.map((part) => part.toLowerCase()).join('/') === hostsInWindows.join('/')) {
      hosts = asHosts;
      continue;
    }
    planned.push({ mount: bind(mount.source ?? '', spell(parts), readOnly), depth: parts.length });
  }
  planned.sort((a, b) => a.depth - b.depth);
  return { mounts: planned.map(({ mount }) => mount), hosts };
}

/**
 * Wine asks for its own host name at each start: the name must be in the hosts file, or every start waits for DNS. Programs
 * read the same file in C:\Windows.
 */
function planHosts(
  input: BundleInput,
  hosts: HostsSource | undefined,
): { readonly mounts: readonly PlannedMount[]; readonly files: ReadonlyMap<string, string> } {
  const hostname =
    input.spec.hostname ??
    input.spec.process?.env?.find((entry) => entry.startsWith('HOSTNAME='))?.slice('HOSTNAME='.length) ??
    '';
  const text = hosts === undefined ? '' : (input.readText(hosts.source) ?? '');
  const known = text
    .split('\n')
    .some((line) => line.replace(/#.*/, '').split(/\s+/).slice(1).includes(hostname));
  const files = new Map<string, string>();
  let used = hosts?.source;
  if (hosts === undefined || (hostname !== '' && !known)) {
    used = `${input.bundle}/hosts`;
    const start = text === '' ? '127.0.0.1\tlocalhost\n' : `${text.replace(/(?<!\n)\n*$/, '')}\n`;
    files.set(used, `${start}${hostname === '' ? '' : `127.0.0.1\t${hostname}\n`}`);
  }
  const path = used ?? '';
  const readOnly = hosts?.readOnly ?? false;
  return {
    files,
    mounts: [bind(path, '/etc/hosts', readOnly), bind(path, [driveC, ...hostsInWindows].join('/'), readOnly)],
  };
}
