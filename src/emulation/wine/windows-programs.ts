// The Windows programs that an emulated node brings itself, compiled from native/windows.
import { copyFile, mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { contentKey } from '../../component-base/content-hash.ts';
import { buildNative } from '../../os/native-build.ts';
import type { Processes } from '../../os/processes.ts';

/** For the runtime, mounted at /.porthole: the container's first program and the bringer of control events. */
const runtimePrograms = ['pinit', 'ctrl'];

interface SystemProgram {
  readonly source: string;
  /** File names in C:\Windows\System32. */
  readonly names: readonly string[];
  readonly libraries?: readonly string[];
}

/** For programs: what Wine lacks or only pretends to have. */
export const systemPrograms: readonly SystemProgram[] = [
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
  /** Holds pinit.exe and ctrl.exe. */
  readonly runtimeDir: string;
  /** File name in System32 to the compiled program. */
  readonly system: ReadonlyMap<string, string>;
  readonly key: string;
}

export async function buildWindowsPrograms(
  processes: Processes,
  cacheDir: string,
  nativeDir: string,
): Promise<WindowsPrograms> {
  const build = (name: string, libraries: readonly string[] = []): Promise<string> =>
    buildNative(processes, cacheDir, {
      name,
      target: 'windows',
      source: join(nativeDir, 'windows', `${name}.c`),
      libraries,
    });
  const forRuntime = await Promise.all(runtimePrograms.map((name) => build(name)));
  const system = new Map<string, string>();
  for (const { source, names, libraries } of systemPrograms) {
    const program = await build(source, libraries);
    for (const name of names) system.set(name, program);
  }
  const key = contentKey([...system].flat());
  const runtimeDir = join(cacheDir, 'wine', `programs-${contentKey(forRuntime)}`);
  await collect(forRuntime, runtimeDir);
  return { runtimeDir, system, key };
}

async function collect(files: readonly string[], directory: string): Promise<void> {
  if (await stat(directory).catch(() => undefined)) return;
  const partial = `${directory}.${process.pid}.partial`;
  await mkdir(partial, { recursive: true });
  for (const file of files) await copyFile(file, join(partial, basename(file)));
  await rename(partial, directory).catch(() => rm(partial, { recursive: true, force: true }));
}
