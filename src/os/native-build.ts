// Compiles the project's few C programs on first use, for Linux (static) or Windows, into a cache named by content.
import { mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { contentKey } from '../component-base/content-hash.ts';
import { type Processes, runOrThrow } from './processes.ts';

export type NativeTarget = 'linux' | 'windows' | 'windows-dll';

export interface NativeProgram {
  /** File name of the result without its ending: `pinit` becomes pinit.exe for Windows. */
  readonly name: string;
  readonly target: NativeTarget;
  /** Absolute path of the C source. */
  readonly source: string;
  /** Further inputs for the linker, such as a .def file. */
  readonly extraSources?: readonly string[];
  /** Libraries to link, without `-l`. */
  readonly libraries?: readonly string[];
  /** Further flags. */
  readonly flags?: readonly string[];
}

interface Toolchain {
  readonly compiler: string;
  readonly flags: readonly string[];
  readonly ending: string;
  readonly debianPackage: string;
}

const toolchains: Readonly<Record<NativeTarget, Toolchain>> = {
  linux: { compiler: 'musl-gcc', flags: ['-static'], ending: '', debianPackage: 'musl-tools' },
  windows: {
    compiler: 'x86_64-w64-mingw32-gcc',
    flags: ['-static'],
    ending: '.exe',
    debianPackage: 'gcc-mingw-w64-x86-64-win32',
  },
  'windows-dll': {
    compiler: 'x86_64-w64-mingw32-gcc',
    flags: ['-static', '-shared'],
    ending: '.dll',
    debianPackage: 'gcc-mingw-w64-x86-64-win32',
  },
};

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

/** The path of the compiled program in `<cacheDir>/native`; compiles it when it is not there yet. */
export async function buildNative(
  processes: Processes,
  cacheDir: string,
  program: NativeProgram,
): Promise<string> {
  const toolchain = toolchains[program.target];
  const sources = [program.source, ...(program.extraSources ?? [])];
  const flags = ['-O2', '-s', '-Wall', '-Wextra', ...toolchain.flags, ...(program.flags ?? [])];
  const libraries = (program.libraries ?? []).map((library) => `-l${library}`);
  const contents = await Promise.all(sources.map((source) => readFile(source)));
  const key = contentKey([program.target, program.name, ...flags, ...libraries, ...contents]);
  const directory = join(cacheDir, 'native', key);
  const result = join(directory, `${program.name}${toolchain.ending}`);
  if (await isThere(result)) return result;

  const partial = join(cacheDir, 'native', `${key}.${process.pid}.partial`);
  await mkdir(partial, { recursive: true });
  try {
    const output = join(partial, `${program.name}${toolchain.ending}`);
    await compile(processes, toolchain, [...flags, '-o', output, ...sources, ...libraries]);
    // Two builders make the same bytes: whoever is second keeps the first one's.
    await rename(partial, directory).catch(async (error: unknown) => {
      if (!(await isThere(result))) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return result;
}

async function compile(processes: Processes, toolchain: Toolchain, args: readonly string[]): Promise<void> {
  try {
    await runOrThrow(processes, toolchain.compiler, args);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(
      `${toolchain.compiler} is not installed. Install it with: apt-get install ${toolchain.debianPackage}`,
      { cause: error },
    );
  }
}
