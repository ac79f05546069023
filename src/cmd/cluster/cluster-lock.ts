// One command at a time works on a cluster: `up` and `down` of one name in one home wait for each other.
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withFileLock } from '../../os/file-lock.ts';
import type { Processes } from '../../os/processes.ts';
import { removeIfEmpty } from '../../os/remove-if-empty.ts';
import type { Progress } from '../progress.ts';
import { parseClusterName } from './cluster-name.ts';

const patienceMs = 500;

/** The lock is not in the cluster's folder, which `down` removes. It ends with its holder, however that ends. */
export async function withClusterLock<T>(
  processes: Processes,
  cluster: { readonly home: string; readonly name: string },
  progress: Progress,
  body: () => Promise<T>,
): Promise<T> {
  const folder = join(cluster.home, 'locks');
  const file = join(folder, parseClusterName(cluster.name));
  const waiting = setTimeout(
    () => progress.say(`another command works on cluster ${cluster.name}; waiting for it to end`),
    patienceMs,
  );
  try {
    return await withFileLock(
      processes,
      file,
      () => {
        clearTimeout(waiting);
        return body();
      },
      () => mkdirSync(folder, { recursive: true, mode: 0o700 }),
    );
  } finally {
    clearTimeout(waiting);
  }
}

/** For the holder of the lock, when the cluster is gone: the next one that wants it makes another file. */
export function removeClusterLock({ home, name }: { readonly home: string; readonly name: string }): void {
  const folder = join(home, 'locks');
  rmSync(join(folder, parseClusterName(name)), { force: true });
  removeIfEmpty(folder);
}
