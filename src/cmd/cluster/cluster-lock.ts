// One command at a time works on a cluster: `up` and `down` of one name in one home wait for each other.
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { withFileLock } from '../../os/file-lock.ts';
import type { Processes } from '../../os/processes.ts';
import { removeIfEmpty } from '../../os/remove-if-empty.ts';
import type { Progress } from '../progress.ts';
import { parseClusterName } from './cluster-name.ts';
import { clusterPaths } from './cluster-state.ts';

const patienceMs = 500;

interface Cluster {
  readonly home: string;
  readonly name: string;
}

const lockFolder = (home: string): string => join(home, 'locks');
const lockFile = ({ home, name }: Cluster): string => join(lockFolder(home), parseClusterName(name));

/** A command works on the cluster, or was killed while it did. */
export const hasClusterLock = (cluster: Cluster): boolean => existsSync(lockFile(cluster));

/** When there is no such cluster, or no more: the next one that wants the lock makes another file. */
function removeWithCluster({ home, name }: Cluster, folder: string, file: string): void {
  if (existsSync(clusterPaths(home, name).root)) return;
  rmSync(file, { force: true });
  removeIfEmpty(folder);
}

/** The lock is not in the cluster's folder, which `down` removes. It ends with its holder, however that ends. */
export async function withClusterLock<T>(
  processes: Processes,
  cluster: Cluster,
  progress: Progress,
  body: () => Promise<T>,
): Promise<T> {
  const folder = lockFolder(cluster.home);
  const file = lockFile(cluster);
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
        return body().finally(() => removeWithCluster(cluster, folder, file));
      },
      () => mkdirSync(folder, { recursive: true, mode: 0o700 }),
    );
  } finally {
    clearTimeout(waiting);
  }
}
