// One program out of a Debian package that is not installed: nothing of the machine changes, and no service is started.
import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Processes, runOrThrow } from '../../os/processes.ts';
import { intoPlace } from './into-place.ts';

export interface DebianProgram {
  readonly package: string;
  /** Where the program lies in it: `usr/bin/kubectl`. */
  readonly file: string;
  /** Its folder below the cache's tools. */
  readonly folder: string;
}

/** `apt-get download` of the package; a machine that never ran `apt-get update` has no lists, or old ones. */
async function download(processes: Processes, name: string, directory: string): Promise<void> {
  const get = (): Promise<string> =>
    runOrThrow(processes, 'apt-get', ['download', '-q', name], { cwd: directory, timeoutMs: 300_000 });
  try {
    await get();
  } catch {
    await processes.run('apt-get', ['update'], { timeoutMs: 300_000 });
    await get();
  }
}

/** Path of the program, unpacked from its package the first time. */
export async function debianProgram(
  processes: Processes,
  cache: string,
  wanted: DebianProgram,
  say: (text: string) => void,
): Promise<string> {
  const directory = join(cache, 'tools', wanted.folder);
  const program = basename(wanted.file);
  if (existsSync(join(directory, program))) return join(directory, program);
  say(`fetching ${program} out of Debian's package ${wanted.package}`);
  await intoPlace(directory, async (scratch) => {
    await download(processes, wanted.package, scratch);
    const deb = readdirSync(scratch).find((name) => name.endsWith('.deb'));
    if (!deb) throw new Error(`apt-get download ${wanted.package} left no package`);
    await runOrThrow(processes, 'dpkg-deb', ['-x', join(scratch, deb), join(scratch, 'tree')]);
    renameSync(join(scratch, 'tree', wanted.file), join(scratch, program));
    rmSync(join(scratch, 'tree'), { recursive: true });
    rmSync(join(scratch, deb));
  });
  return join(directory, program);
}
