// What a killed e2e test leaves: folders and control groups. Its processes, mounts, links and namespaces go with its box.
import { globSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { nodeLayout } from '../src/cmd/cluster/node-layout.ts';
import { createLinuxCgroups } from '../src/os/linux/cgroups-linux.ts';

const prefix = 'porthole-run-';

/** The list of the folders that the test in one of this run's lanes made. */
export const scratchListOf = (pid: number, lane: number): string =>
  join(tmpdir(), `${prefix}${pid}-${lane}.folders`);

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Test harnesses name a control group after their folder, and nodes theirs after where they are. */
async function removeGroupsOf(folder: string): Promise<void> {
  const cgroups = createLinuxCgroups();
  await cgroups.remove(`/${basename(folder)}`);
  for (const node of globSync(join(folder, 'clusters/*/nodes/*')))
    await cgroups.remove(nodeLayout(node).cgroupRoot);
}

/** Removes what the tests in the list did not; returns those folders. */
export async function removeLeftovers(list: string): Promise<string[]> {
  if (!isThere(list)) return [];
  const left = readFileSync(list, 'utf8')
    .split('\n')
    .filter((path) => path.startsWith(join(tmpdir(), 'porthole-')) && isThere(path));
  for (const folder of left) {
    await removeGroupsOf(folder);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }
  rmSync(list, { force: true });
  return left;
}

/** Runs that were killed could not tidy up after themselves. */
export async function removeLeftoversOfDeadRuns(): Promise<void> {
  for (const name of readdirSync(tmpdir())) {
    const pid = new RegExp(`^${prefix}(\\d+)-\\d+\\.folders$`).exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid))) await removeLeftovers(join(tmpdir(), name));
  }
}
