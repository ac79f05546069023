// Work on the data of a cluster's server: the supervisor leaves the server stopped meanwhile, and starts it again.
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import type { Progress } from '../progress.ts';
import { pauseProcess } from '../supervisor/pause-process.ts';
import { withClusterLock } from './cluster-lock.ts';
import { endingCluster } from './cluster-name.ts';
import { clusterPaths, readClusterState } from './cluster-state.ts';
import { crashCheck } from './crash-check.ts';
import { endProcesses } from './own-processes.ts';
import { waitForAnyServer } from './wait-ready.ts';
import { runningProcesses } from './what-runs.ts';

export interface StopServer<T> {
  readonly home: string;
  readonly name: string;
  /** For whom it is stopped, as `porthole status` says it. */
  readonly why: string;
  /** Whether the server can be waited for, after this result. */
  readonly comesBack: (result: T) => boolean;
}

const graceMs = 10_000;

/** A cluster that is not there, or was ended, has no server: its store may be made before its first `up`. */
export async function withServerStopped<T>(
  { home, name, why, comesBack }: StopServer<T>,
  progress: Progress,
  body: () => Promise<T>,
): Promise<T> {
  const paths = clusterPaths(home, name);
  return withClusterLock(linuxProcesses, { home, name }, progress, async () => {
    const state = readClusterState(paths);
    if (!state || state.kept) return body();
    if (state.ending) throw new Error(endingCluster(state));
    const resume = await progress.step('the server stops', async () => {
      const paused = await pauseProcess(linuxProcesses, paths.root, 'server', why);
      const running = await runningProcesses(linuxFiles, paths, state);
      await endProcesses(
        running.filter((one) => one.role === 'server'),
        graceMs,
      );
      return paused;
    });
    let result: T;
    const log = `${paths.logs}/server.log`;
    let check = (): void => {};
    try {
      result = await body();
    } finally {
      check = crashCheck(paths.root, 'server', log);
      resume();
    }
    if (comesBack(result))
      await progress.step('the server is back', () => waitForAnyServer(state.server, check, log));
    return result;
  });
}
