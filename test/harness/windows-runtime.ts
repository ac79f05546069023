// A containerd of its own with the Windows handler, driven by CRI, for tests of the emulation alone.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build as bundle } from 'esbuild';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { exitCodeFile, parseExitCode } from '../../src/component-helpers/emulated-windows.ts';
import { installWindowsHandler, type KernelAnswers } from '../../src/emulation/wine/windows-handler.ts';
import { loadImage } from '../../src/images/load-image.ts';
import { linuxSampleImages, pauseImage, type SampleImage } from '../../src/images/sample-images.ts';
import { ensureContainerd, removeContainerd } from '../../src/kubelet/containerd/containerd-process.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type Cri, createCri } from '../../src/rpc-api/cri.ts';
import type { ContainerConfig, Mount, PodSandboxConfig } from '../../src/rpc-api/generated/cri-v1.ts';
import { createGrpcClient } from '../../src/wire/grpc-client.ts';
import { eventually } from './eventually.ts';
import { scratchDirectory } from './scratch.ts';

export const nativeDir: string = fileURLToPath(new URL('../../native', import.meta.url));
export const cacheDir: string = portholeCache();

export interface TestContainer {
  readonly id: string;
  start(): Promise<void>;
  exec(...command: string[]): Promise<{ stdout: string; stderr: string; code: number }>;
  /** Lines of the CRI log, both streams. */
  log(): string;
  /** Waits for the end; `full` is the 32-bit code. */
  ended(): Promise<{ code: number; full: number | undefined; reason: string }>;
  stop(graceSeconds: number): Promise<void>;
  remove(): Promise<void>;
}

export interface ContainerOptions {
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly mounts?: readonly Mount[];
  readonly workingDir?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly memoryBytes?: number;
  readonly tty?: boolean;
  /** Default RuntimeDefault, as the kubelet asks for. */
  readonly seccomp?: 'RuntimeDefault' | 'Unconfined';
}

export interface TestSandbox {
  readonly id: string;
  readonly ip: string;
  container(name: string, options: ContainerOptions): Promise<TestContainer>;
  remove(): Promise<void>;
}

export interface WindowsRuntime {
  readonly cri: Cri;
  readonly directory: string;
  readonly address: string;
  load(image: SampleImage): Promise<void>;
  /** `annotations`: those of a pod's user. */
  sandbox(
    name: string,
    hostname?: string,
    annotations?: Readonly<Record<string, string>>,
  ): Promise<TestSandbox>;
  close(): Promise<void>;
}

/** One for each runtime: closing one ends what is in its group. */
const cgroupRoot = (directory: string): string => `/${basename(directory)}`;

async function bundleHandler(directory: string): Promise<string> {
  const outfile = join(directory, 'handler-main.cjs');
  const entry = fileURLToPath(new URL('../../src/emulation/wine/handler-main.ts', import.meta.url));
  await bundle({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    logLevel: 'error',
  });
  return outfile;
}

const cniConfig = (name: string): string =>
  JSON.stringify({
    cniVersion: '0.4.0',
    name,
    plugins: [
      {
        type: 'bridge',
        bridge: 'windows0',
        isGateway: true,
        ipam: { type: 'host-local', dataDir: '/run/cni-test', ranges: [[{ subnet: '10.88.0.0/24' }]] },
      },
    ],
  });

/** Nothing is left behind when it fails half-way. */
export async function startWindowsRuntime(
  windowsBuild: number,
  kernel?: KernelAnswers,
): Promise<WindowsRuntime> {
  const undo = new AsyncDisposableStack();
  try {
    return await start(windowsBuild, kernel, undo);
  } catch (error) {
    await undo.disposeAsync();
    throw error;
  }
}

async function start(
  windowsBuild: number,
  kernel: KernelAnswers | undefined,
  undo: AsyncDisposableStack,
): Promise<WindowsRuntime> {
  const scratch = scratchDirectory('windows');
  undo.defer(() => scratch.remove());
  const directory = scratch.path;
  const handler = await installWindowsHandler({
    processes: linuxProcesses,
    cacheDir,
    nativeDir,
    build: windowsBuild,
    stateDir: join(directory, 'handler'),
    node: process.execPath,
    handlerMain: await bundleHandler(directory),
    ...(kernel === undefined ? {} : { kernel }),
  });
  const deps = { host: createLinuxHost(), clock: systemClock, log: silentLogger };
  const paths = {
    dir: directory,
    root: join(directory, 'root'),
    state: join(directory, 'state'),
    address: join(directory, 'containerd.sock'),
    cniBinDir: '/usr/lib/cni',
    cniConfDir: join(directory, 'cni'),
    sandboxImage: pauseImage,
    runtimeHandlers: handler.runtimeHandlers,
  };
  mkdirSync(paths.cniConfDir, { recursive: true });
  writeFileSync(join(paths.cniConfDir, '10-test.conflist'), cniConfig('test'));
  undo.defer(async () => {
    await removeContainerd(deps, { ...paths, images: true });
    await deps.host.cgroups?.remove(cgroupRoot(directory));
  });
  await ensureContainerd(deps, paths);
  const client = createGrpcClient(systemClock, `unix://${paths.address}`);
  undo.defer(() => client.close());
  const cri = createCri(client);
  const load = async (image: SampleImage, checked = false): Promise<void> => {
    await loadImage({ processes: linuxProcesses, address: paths.address, checked, ...image });
    await eventually(async () => {
      if (!(await cri.images.imageStatus({ image: image.reference })))
        throw new Error(`no ${image.reference}`);
    });
  };
  for (const image of await linuxSampleImages({ processes: linuxProcesses, cacheDir, nativeDir }))
    await load(image, true); // the node's own: an archive that is checked may not name the sandbox's image
  await eventually(async () => {
    const { status } = await cri.runtime.status();
    const failing = status?.conditions?.filter((condition) => !condition.status) ?? [];
    if (failing.length > 0) throw new Error(JSON.stringify(failing));
  });
  return {
    cri,
    directory,
    address: paths.address,
    load,
    sandbox: (name, hostname = name, annotations = {}) =>
      sandbox(cri, directory, { name, hostname, annotations }),
    close: () => undo.disposeAsync(),
  };
}

async function sandbox(
  cri: Cri,
  directory: string,
  given: Required<Pick<PodSandboxConfig, 'hostname' | 'annotations'>> & { readonly name: string },
): Promise<TestSandbox> {
  const { name, hostname, annotations } = given;
  const logDirectory = join(directory, 'logs', name);
  const config: PodSandboxConfig = {
    metadata: { name, uid: `uid-${name}`, namespace: 'default', attempt: 0 },
    hostname,
    annotations,
    logDirectory,
    linux: { cgroupParent: `${cgroupRoot(directory)}/${name}` },
  };
  const id = await cri.runtime.runPodSandbox(config, 'runhcs-wcow-process');
  const status = await cri.runtime.podSandboxStatus(id);
  return {
    id,
    ip: status.status?.network?.ip ?? '',
    container: (containerName, options) => container(cri, directory, id, config, containerName, options),
    remove: async () => {
      await cri.runtime.stopPodSandbox(id);
      await cri.runtime.removePodSandbox(id);
    },
  };
}

async function container(
  cri: Cri,
  directory: string,
  sandboxId: string,
  sandboxConfig: PodSandboxConfig,
  name: string,
  options: ContainerOptions,
): Promise<TestContainer> {
  const config: ContainerConfig = {
    metadata: { name, attempt: 0 },
    image: { image: options.image },
    command: options.command ?? [],
    args: options.args ?? [],
    envs: Object.entries(options.env ?? {}).map(([key, value]) => ({ key, value: Buffer.from(value) })),
    mounts: options.mounts ?? [],
    workingDir: options.workingDir ?? '',
    annotations: { ...options.annotations },
    logPath: `${name}.log`,
    tty: options.tty ?? false,
    linux: {
      resources: { memoryLimitInBytes: options.memoryBytes ?? 0 },
      securityContext: {
        runAsUser: { value: 0 },
        seccomp: { profileType: options.seccomp ?? 'RuntimeDefault' },
      },
    },
  };
  const { runtime } = cri;
  const id = await runtime.createContainer(sandboxId, config, sandboxConfig);
  return {
    id,
    start: () => runtime.startContainer(id),
    exec: async (...command) => {
      const { stdout, stderr, exitCode } = await runtime.execSync(id, command, 60);
      return {
        stdout: Buffer.from(stdout).toString(),
        stderr: Buffer.from(stderr).toString(),
        code: exitCode,
      };
    },
    log: () =>
      readFileSync(join(sandboxConfig.logDirectory ?? '', `${name}.log`), 'utf8')
        .split('\n')
        .map((line) => line.split(' ').slice(3).join(' '))
        .join('\n'),
    ended: () =>
      eventually(
        async () => {
          const status = await runtime.containerStatus(id);
          if (!status.finishedAt || Number(status.finishedAt) === 0) throw new Error('still running');
          const text = readFileSync(exitCodeFile(join(directory, 'handler'), id), 'utf8');
          return { code: status.exitCode ?? 0, full: parseExitCode(text), reason: status.reason ?? '' };
        },
        { timeoutMs: 60_000 },
      ),
    stop: (graceSeconds) => runtime.stopContainer(id, graceSeconds),
    remove: () => runtime.removeContainer(id),
  };
}
