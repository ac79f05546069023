// Turns the OCI bundle of a Windows container into one that runs it under Wine: specification in, specification out. Pure.
import { hostProcessAnnotation, runAsUserNameAnnotation } from '../../component-helpers/emulated-windows.ts';
import { parseWindowsPath } from '../../component-helpers/windows-path.ts';
import {
  type FolderReader,
  findFolder,
  isWindowsBaseLayer,
  type SnapshotMount,
  spellAsOnDisk,
} from './image-layers.ts';
import type { OciMount, OciNamespace, OciSpec } from './oci-spec.ts';
import { accountOf, driveC, wineProcess } from './wine-process.ts';

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
}

export interface BundleInput {
  readonly spec: OciSpec;
  readonly config: HandlerConfig;
  readonly bundle: string;
  readonly id: string;
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
  /** To be written, path to text. */
  readonly files: ReadonlyMap<string, string>;
  /** What `exec` needs to know later. */
  readonly container: ContainerState;
}

export interface ContainerState {
  readonly user: string;
  /** The working directory as the image or pod wrote it, and where it is. */
  readonly cwd: { readonly written: string; readonly path: string };
}

/** The kernel takes one page of mount options. */
const longestOptions = 4000;

const systemMounts = new Set(['/proc', '/dev', '/dev/pts', '/dev/shm', '/sys']);
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
  const container: ContainerState = { user, cwd: { written: process.cwd ?? '/', path: cwd } };
  return {
    container,
    directories: [...storage.directories, `${config.stateDir}/containers`, `${config.stateDir}/exit-codes`],
    files: new Map([
      ...hosts.files,
      [exitCode, ''],
      [`${config.stateDir}/containers/${id}`, JSON.stringify(container)],
    ]),
    spec: {
      ...spec,
      process: wineProcess(process, { user, cwd, first: true }),
      root: { path: config.runtimeRoot, readonly: true },
      mounts: [
        ...(spec.mounts ?? []).filter(isSystemMount),
        tmpfs('/tmp'),
        bind(config.programsDir, '/.porthole', true),
        bind(exitCode, '/run/porthole/exit-code', false),
        ...storage.mounts,
        ...hosts.mounts,
        ...volumes.mounts,
      ],
      linux: linuxOf(spec),
    },
  };
}

function partsOf(path: string, what: string): readonly string[] {
  const parsed = parseWindowsPath(path);
  if ('error' in parsed) throw new Error(`${what}: ${parsed.error}`);
  return parsed.parts;
}

const tmpfs = (destination: string): OciMount => ({
  destination,
  type: 'tmpfs',
  source: 'tmpfs',
  options: ['nosuid', 'nodev', 'mode=1777'],
});

const bind = (source: string, destination: string, readOnly: boolean): OciMount => ({
  destination,
  type: 'bind',
  source,
  options: ['rbind', 'rprivate', readOnly ? 'ro' : 'rw'],
});

function isSystemMount(mount: OciMount): boolean {
  if (networkFiles.has(mount.destination)) return mount.destination !== '/etc/hosts';
  if (mount.destination === '/dev/shm') return true;
  return mount.type !== 'bind' && systemMounts.has(mount.destination);
}

/** Each container has its own process tree under its own first process; the network is the pod's: one compartment. */
function linuxOf(spec: OciSpec): NonNullable<OciSpec['linux']> {
  const { rootfsPropagation: _, ...linux } = spec.linux ?? {};
  const own = (namespace: OciNamespace): OciNamespace =>
    namespace.type === 'pid' ? { type: 'pid' } : namespace;
  const namespaces = (linux.namespaces ?? []).map(own);
  return {
    ...linux,
    namespaces: namespaces.some(({ type }) => type === 'pid') ? namespaces : [...namespaces, { type: 'pid' }],
  };
}

interface StoragePlan {
  readonly mounts: readonly OciMount[];
  readonly directories: readonly string[];
  /** The folders that C: consists of, for finding names. */
  readonly roots: readonly string[];
}

/** Wine's prefix, and C: as an overlay of the image's layers over the template; C:\Windows is the template's. */
function planStorage(input: BundleInput): StoragePlan {
  const first = storageOf(input, input.snapshot);
  const tooLong = first.mounts.some(({ options = [] }) => options.join(',').length > longestOptions);
  // Many layers: their merged view is one folder, at the price of an overlay over an overlay.
  return tooLong && input.snapshot
    ? storageOf(input, { layers: [input.rootfs], upper: input.snapshot.upper })
    : first;
}

function storageOf(input: BundleInput, snapshot: SnapshotMount | undefined): StoragePlan {
  const { config, reader } = input;
  const layers = snapshot?.layers ?? [input.rootfs];
  const upper = snapshot?.upper ?? `${input.bundle}/windows/changes`;
  const work = snapshot
    ? `${snapshot.upper.replace(/\/[^/]+$/, '')}/porthole-work`
    : `${input.bundle}/windows/work`;
  const template = `${config.prefix}/drive_c`;
  const below = (from: readonly string[], ...parts: string[]): readonly string[] =>
    from.map((layer) => findFolder(reader, layer, parts)).filter((folder) => folder !== undefined);

  const directories: string[] = [];
  const overlay = (destination: string, name: string, lowers: readonly string[]): OciMount => {
    const upperDir = `${upper}/${name}`;
    const workDir = `${work}/${name}`;
    directories.push(upperDir, workDir);
    const unusable = [...lowers, upperDir, workDir].find((path) => /[,:\\]/.test(path));
    if (unusable !== undefined)
      throw new Error(`overlayfs takes no path with a comma, colon or backslash: ${unusable}`);
    const options = [`lowerdir=${lowers.join(':')}`, `upperdir=${upperDir}`, `workdir=${workDir}`];
    return { destination, type: 'overlay', source: 'overlay', options };
  };

  const files = below(layers, 'Files');
  const mounts = [
    overlay('/wp', 'Prefix', [config.prefix]),
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
  return { mounts, directories, roots: [template, ...files] };
}

interface VolumePlan {
  readonly mounts: readonly OciMount[];
  /** Source of the hosts file that the node agent brings. */
  readonly hosts: string | undefined;
}

function planVolumes(mounts: readonly OciMount[], spell: (parts: readonly string[]) => string): VolumePlan {
  const planned: { readonly mount: OciMount; readonly depth: number }[] = [];
  let hosts: string | undefined;
  for (const mount of mounts) {
    if (mount.destination === '/etc/hosts') hosts ??= mount.source;
    if (mount.type !== 'bind' || isSystemMount(mount) || mount.destination === '/etc/hosts') continue;
    const parts = partsOf(mount.destination, 'mount');
    if (parts.length === 0)
      throw new Error(`mount: ${JSON.stringify(mount.destination)} is the root of drive C:`);
    if (parts.map((part) => part.toLowerCase()).join('/') === hostsInWindows.join('/')) {
      hosts = mount.source;
      continue;
    }
    const readOnly = (mount.options ?? []).includes('ro');
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
  source: string | undefined,
): { readonly mounts: readonly OciMount[]; readonly files: ReadonlyMap<string, string> } {
  const hostname =
    input.spec.hostname ??
    input.spec.process?.env?.find((entry) => entry.startsWith('HOSTNAME='))?.slice('HOSTNAME='.length) ??
    '';
  const text = source === undefined ? '' : (input.readText(source) ?? '');
  const known = text
    .split('\n')
    .some((line) => line.replace(/#.*/, '').split(/\s+/).slice(1).includes(hostname));
  const files = new Map<string, string>();
  let used = source;
  if (source === undefined || (hostname !== '' && !known)) {
    used = `${input.bundle}/hosts`;
    const start = text === '' ? '127.0.0.1\tlocalhost\n' : `${text.replace(/\n*$/, '')}\n`;
    files.set(used, `${start}${hostname === '' ? '' : `127.0.0.1\t${hostname}\n`}`);
  }
  const path = used ?? '';
  return {
    files,
    mounts: [bind(path, '/etc/hosts', false), bind(path, [driveC, ...hostsInWindows].join('/'), false)],
  };
}
