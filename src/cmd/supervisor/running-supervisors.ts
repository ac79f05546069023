// A cluster's supervisors that run, whatever is in the file by which one shows itself: that may be damaged, or its disk full.
import { processesWithArgument } from '../../kubelet/containerd/process-table.ts';
import type { Files } from '../../os/files.ts';
import { startTicksOf } from '../cluster/own-processes.ts';
import type { RunningProcess } from './supervision.ts';

const program = /(^|\/)supervisor(\.mjs|-main\.ts)$/;

/** One of them, or more for the moment in which the others find that the cluster is taken, and end. */
export async function runningSupervisors(files: Files, root: string): Promise<RunningProcess[]> {
  const candidates = await processesWithArgument(files, root);
  return candidates
    .filter(({ args }) => args.at(-1) === root && program.test(args.at(-2) ?? ''))
    .flatMap(({ pid }) => {
      const startTicks = startTicksOf(pid);
      return startTicks === undefined ? [] : [{ role: 'supervisor', pid, startTicks }];
    });
}
