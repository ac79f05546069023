// Sets up a node's runtime handler for Windows containers: everything it needs is installed, its front is a file.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { windowsRuntimeHandlers } from '../../component-helpers/emulated-windows.ts';
import { type Processes, runOrThrow } from '../../os/processes.ts';
import type { PodUser } from './confinement.ts';
import { installPrefixTemplate } from './prefix-template.ts';
import { installRuncFront } from './runc-front.ts';
import { type InstallOptions, installWineRuntime } from './runtime-tree.ts';
import { claimUserRange } from './user-ranges.ts';
import { buildWindowsPrograms } from './windows-programs.ts';
import type { HandlerConfig } from './wine-bundle.ts';

/** How the pods of a node can be kept apart. */
export type KernelAnswers = Pick<PodUser, 'ownsFiles' | 'namespace'>;

export interface WindowsHandlerOptions extends InstallOptions {
  /** The Windows build that the node is: 17763, 20348, 25398 or 26100. */
  readonly build: number;
  /** Own folder of this node's handler; removed with the node. */
  readonly stateDir: string;
  /** The project's native/ folder with the C sources. */
  readonly nativeDir: string;
  /** The Node program and the bundled handler-main that it runs. */
  readonly node: string;
  readonly handlerMain: string;
  /** Default `runc`; an absolute path saves a search for each call. */
  readonly runc?: string;
  /** Default: what the kernel answers. */
  readonly kernel?: KernelAnswers;
}

export interface WindowsHandler {
  /** BinaryName of containerd's handlers, by name. */
  readonly runtimeHandlers: Readonly<Record<string, string>>;
  /** Full exit codes are in `exit-codes` below it. */
  readonly stateDir: string;
  readonly wineVersion: string;
  readonly build: number;
  /** How its pods are kept apart from the machine and each other, in words. */
  readonly isolation: string;
}

type Prepared = Omit<HandlerConfig, 'stateDir' | 'runc' | 'users'> & {
  readonly wineVersion: string;
  readonly mountsProgram: string;
};

/** What takes long and is shared by all nodes and clusters of the machine: call it early, show its progress. */
export async function prepareWindowsEmulation(
  options: InstallOptions & Pick<WindowsHandlerOptions, 'build' | 'nativeDir' | 'runc'>,
): Promise<Prepared> {
  const { processes, cacheDir, nativeDir, build, onProgress } = options;
  const runtime = await installWineRuntime(options);
  const programs = await buildWindowsPrograms(processes, cacheDir, nativeDir, runtime);
  const runc = options.runc === undefined ? {} : { runc: options.runc };
  const template = await installPrefixTemplate({
    processes,
    cacheDir,
    runtime,
    programs,
    build,
    onProgress,
    ...runc,
  });
  return {
    runtimeRoot: runtime.root,
    programsDir: programs.runtimeDir,
    mountsProgram: programs.mountsProgram,
    prefix: template.prefix,
    hideWindows: template.hideWindows,
    hideSystem: template.hideSystem,
    wineVersion: runtime.wineVersion,
  };
}

/** What the kernel can do is asked once: pods of one node are all kept the same way. */
async function askKernel(
  processes: Processes,
  mountsProgram: string,
  runtimeRoot: string,
): Promise<KernelAnswers> {
  const words = (await runOrThrow(processes, mountsProgram, ['probe', runtimeRoot])).split('\n');
  const ownsFiles = words.includes('owners');
  return { ownsFiles, namespace: ownsFiles && words.includes('namespaces') };
}

function isolationOf({ ownsFiles, namespace }: KernelAnswers): string {
  if (namespace) return 'user namespaces';
  return ownsFiles ? 'unprivileged users' : "unprivileged users, files of images can't be changed";
}

export async function installWindowsHandler(options: WindowsHandlerOptions): Promise<WindowsHandler> {
  const { wineVersion, mountsProgram, ...prepared } = await prepareWindowsEmulation(options);
  const { stateDir, build, processes } = options;
  const runc = options.runc ?? 'runc';
  await mkdir(join(stateDir, 'containers'), { recursive: true });
  await mkdir(join(stateDir, 'exit-codes'), { recursive: true });
  const kernel = options.kernel ?? (await askKernel(processes, mountsProgram, prepared.runtimeRoot));
  const users = { ...(await claimUserRange(processes, stateDir)), ...kernel };
  const config: HandlerConfig = { ...prepared, stateDir, runc, users };
  const configFile = join(stateDir, 'handler.json');
  await writeFile(configFile, JSON.stringify(config));
  const front = await installRuncFront(stateDir, options.nativeDir, {
    runc,
    node: options.node,
    handlerMain: options.handlerMain,
    configFile,
    mountsProgram,
  });
  return {
    runtimeHandlers: { [windowsRuntimeHandlers.process]: front, [windowsRuntimeHandlers.hyperv]: front },
    stateDir,
    wineVersion,
    build,
    isolation: isolationOf(users),
  };
}
