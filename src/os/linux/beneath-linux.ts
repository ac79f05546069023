// Ways below a folder by native/linux/beneath.c: descriptors and openat2, which Node has not.
import { join } from 'node:path';
import {
  type Beneath,
  BeneathError,
  type BeneathStep,
  type FolderUsage,
  type Place,
  type Uncounted,
  type WalkOptions,
} from '../beneath.ts';
import type { FileKind } from '../files.ts';
import type { NativeProgram } from '../native-build.ts';
import { CommandError, type Processes, type RunOptions } from '../processes.ts';

/** What is to be compiled; `nativeDir` is the repository's folder of C sources. */
export const beneathProgram = (nativeDir: string): NativeProgram => ({
  name: 'beneath',
  target: 'linux',
  source: join(nativeDir, 'linux/beneath.c'),
});

function walkArguments(place: Place, { kind, make }: WalkOptions): string[] {
  const mode = make?.mode === undefined ? '' : `:${make.mode.toString(8)}`;
  return [place.base, place.path, kind ?? 'any', make === undefined ? 'none' : `${make.kind}${mode}`];
}

function usageOf(line: string): FolderUsage {
  const [bytes, inodes, uncounted] = line.split(' ');
  return { bytes: Number(bytes), inodes: Number(inodes), uncounted: uncounted as Uncounted | undefined };
}

/** It ends by itself when its time is over; a disk that doesn't answer may hold it for longer. */
const endsWithinMs = 10_000;

/** Linux takes 2 MiB of arguments, or less where a stack is small. */
const portionBytes = 256 << 10;

/** A pod decides how many volumes it has, and how long their names are. */
function portionsOf(paths: readonly string[]): string[][] {
  const portions: string[][] = [];
  let room = 0;
  for (const path of paths) {
    const size = Buffer.byteLength(path) + 1;
    if (size > room) {
      portions.push([]);
      room = portionBytes;
    }
    portions.at(-1)!.push(path);
    room -= size;
  }
  return portions;
}

/** `program`: the compiled helper. */
export function createLinuxBeneath(processes: Processes, program: string): Beneath {
  async function run(args: readonly string[], options?: RunOptions): Promise<string> {
    const result = await processes.run(program, args, options);
    if (result.code === 0) return result.stdout.toString().trim();
    const said = /^([a-z]+) (\d+) (.*)$/s.exec(result.stderr.toString().trim());
    if (!said) throw new CommandError(program, args, result);
    const [, step = '', errno = '', text = ''] = said;
    throw new BeneathError(step as BeneathStep, Number(errno), `${step}: ${text}`);
  }
  return {
    open: async (place, options = {}) => (await run(['open', ...walkArguments(place, options)])) as FileKind,
    mount: async (place, target, options = {}) => {
      const scope = options.below === true ? 'all' : 'one';
      return (await run(['mount', ...walkArguments(place, options), target, scope])) as FileKind;
    },
    release: async (target) => {
      await run(['release', target]);
    },
    remove: async (folder) => {
      await run(['remove', folder]);
    },
    usage: async (paths, withinMs, signal) => {
      const deadline = performance.now() + withinMs;
      const told: FolderUsage[] = [];
      for (const portion of portionsOf(paths)) {
        const leftMs = Math.max(0, Math.ceil(deadline - performance.now()));
        const options = { timeoutMs: leftMs + endsWithinMs, ...(signal && { signal }) };
        const answer = await run(['usage', String(leftMs), ...portion], options);
        told.push(...answer.split('\n').map(usageOf));
      }
      return told;
    },
  };
}
