// The Windows programs that an emulated node brings itself, compiled from native/windows.
import { copyFile, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { contentKey } from '../../component-base/content-hash.ts';
import { buildNative } from '../../os/native-build.ts';
import type { Processes } from '../../os/processes.ts';
import { exportsOf, forwardingDefinition } from './pe-exports.ts';
import { type WineRuntime, wineWinsock } from './runtime-tree.ts';
import { wineDlls } from './wine-paths.ts';

/** For the runtime, mounted at /.porthole: the container's first program and the bringer of control events. */
const runtimePrograms = ['pinit', 'ctrl'];

interface SystemProgram {
  readonly source: string;
  /** File names in C:\Windows\System32. */
  readonly names: readonly string[];
  readonly libraries?: readonly string[];
}

/** For programs: what Wine lacks or only pretends to have. */
const systemPrograms: readonly SystemProgram[] = [
  { source: 'ping', names: ['ping.exe'], libraries: ['ws2_32', 'iphlpapi'] },
  { source: 'timeout', names: ['timeout.exe'] },
  {
    source: 'unavailable',
    names: [
      'powershell.exe',
      'pwsh.exe',
      'arp.exe',
      'cacls.exe',
      'certutil.exe',
      'icacls.exe',
      'netsh.exe',
      'schtasks.exe',
      'shutdown.exe',
      'subst.exe',
      'wevtutil.exe',
    ],
  },
];

export interface WindowsPrograms {
  /** Holds pinit.exe, ctrl.exe, rawtty and confine. */
  readonly runtimeDir: string;
  /** Of the machine: makes the mounts of a container and starts runc. */
  readonly mountsProgram: string;
  /** File name in System32 to the compiled program. */
  readonly system: ReadonlyMap<string, string>;
  readonly key: string;
}

export async function buildWindowsPrograms(
  processes: Processes,
  cacheDir: string,
  nativeDir: string,
  runtime: WineRuntime,
): Promise<WindowsPrograms> {
  const build = (name: string, libraries: readonly string[] = []): Promise<string> =>
    buildNative(processes, cacheDir, {
      name,
      target: 'windows',
      source: join(nativeDir, 'windows', `${name}.c`),
      libraries,
    });
  const linux = (name: string): Promise<string> =>
    buildNative(processes, cacheDir, {
      name,
      target: 'linux',
      source: join(nativeDir, 'linux', `${name}.c`),
    });
  const forRuntime = await Promise.all([
    ...runtimePrograms.map((name) => build(name)),
    linux('rawtty'),
    linux('confine'),
  ]);
  const system = new Map<string, string>();
  for (const { source, names, libraries } of systemPrograms) {
    const program = await build(source, libraries);
    for (const name of names) system.set(name, program);
  }
  system.set('ws2_32.dll', await buildWinsock(processes, cacheDir, nativeDir, runtime));
  const key = contentKey([...system].flat());
  const runtimeDir = join(cacheDir, 'wine', `programs-${contentKey(forRuntime)}`);
  await collect(forRuntime, runtimeDir);
  return { runtimeDir, mountsProgram: await linux('windows-mounts'), system, key };
}

/** Our socket library has the functions and ordinals of Wine's, whatever its version. */
async function buildWinsock(
  processes: Processes,
  cacheDir: string,
  nativeDir: string,
  runtime: WineRuntime,
): Promise<string> {
  const exports = exportsOf(await readFile(join(runtime.root, wineDlls, 'ws2_32.dll')));
  const definition = forwardingDefinition('ws2_32.dll', wineWinsock, exports, { WSAIoctl: 'own_WSAIoctl' });
  const file = join(cacheDir, 'wine', `ws2_32-${contentKey([definition])}.def`);
  await writeFile(`${file}.${process.pid}`, definition);
  await rename(`${file}.${process.pid}`, file);
  return buildNative(processes, cacheDir, {
    name: 'ws2_32',
    target: 'windows-dll',
    source: join(nativeDir, 'windows/ws2_32.c'),
    extraSources: [file],
  });
}

async function collect(files: readonly string[], directory: string): Promise<void> {
  if (await stat(directory).catch(() => undefined)) return;
  const partial = `${directory}.${process.pid}.partial`;
  await mkdir(partial, { recursive: true });
  for (const file of files) await copyFile(file, join(partial, basename(file)));
  await rename(partial, directory).catch(() => rm(partial, { recursive: true, force: true }));
}
