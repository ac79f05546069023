// What a cluster of real containers needs on this machine, installed and built on first use.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { prepareWindowsEmulation } from '../../emulation/wine/windows-handler.ts';
import { linuxSampleImages } from '../../images/sample-images.ts';
import { withFileLock } from '../../os/file-lock.ts';
import { beneathProgram } from '../../os/linux/beneath-linux.ts';
import { buildNative } from '../../os/native-build.ts';
import type { Processes } from '../../os/processes.ts';
import { packageRoot } from '../setup/package-root.ts';
import { ensureSystemPackages, linuxNodePackages, windowsNodePackages } from '../setup/system-packages.ts';

export const nativeDir = (): string => join(packageRoot(), 'native');

/** The CNI client for containerd's bin_dir; compiled once. */
export const buildCniClient = (processes: Processes, cache: string): Promise<string> =>
  buildNative(processes, cache, {
    name: 'cni-client',
    target: 'linux',
    source: join(nativeDir(), 'cni-client.c'),
  });

/** The program through which root goes where pods can change the way; compiled once. */
export const buildBeneath = (processes: Processes, cache: string): Promise<string> =>
  buildNative(processes, cache, beneathProgram(nativeDir()));

export interface PrepareOptions {
  readonly processes: Processes;
  readonly cache: string;
  /** Builds of the Windows nodes; empty when there are none. */
  readonly windowsBuilds: readonly number[];
  readonly say: (text: string) => void;
}

/**
 * Takes minutes on a new machine and milliseconds afterwards. Throws an Error that says the next step. Two at once would
 * get into each other's way (apt has one lock): the second waits and finds all in place.
 */
export function prepareMachine(options: PrepareOptions): Promise<void> {
  mkdirSync(options.cache, { recursive: true });
  return withFileLock(options.processes, join(options.cache, 'prepare.lock'), () => prepare(options));
}

async function prepare(options: PrepareOptions): Promise<void> {
  const { processes, cache, say } = options;
  const packages =
    options.windowsBuilds.length > 0 ? [...linuxNodePackages, ...windowsNodePackages] : linuxNodePackages;
  await ensureSystemPackages(processes, packages, say);
  await buildCniClient(processes, cache);
  await buildBeneath(processes, cache);
  await linuxSampleImages({ processes, cacheDir: cache, nativeDir: nativeDir(), onProgress: say });
  for (const build of new Set(options.windowsBuilds)) {
    await prepareWindowsEmulation({
      processes,
      cacheDir: cache,
      build,
      nativeDir: nativeDir(),
      onProgress: ({ text }) => say(text),
    });
  }
}
