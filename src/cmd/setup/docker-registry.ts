// docker-registry: the machine's own, or Debian's out of its package, which would start a service if it were installed.
import type { Processes } from '../../os/processes.ts';
import { debianProgram } from './debian-program.ts';
import { isInstalled } from './system-packages.ts';

const program = 'docker-registry';

/** A name in PATH, or a path in the cache. */
export async function ensureDockerRegistry(
  processes: Processes,
  cache: string,
  say: (text: string) => void,
): Promise<string> {
  if (isInstalled(program)) return program;
  return debianProgram(
    processes,
    cache,
    { package: program, file: `usr/bin/${program}`, folder: program },
    say,
  );
}
