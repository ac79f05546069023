// Takes one process of a cluster out of its supervisor's care for a while: who stops it then is not in a race with it.
import { setTimeout as delay } from 'node:timers/promises';
import type { Processes } from '../../os/processes.ts';
import { recordOf } from '../cluster/own-processes.ts';
import { livingSupervisor, repairSupervisor } from './supervise-cluster.ts';
import { readSupervision, supervisedState, writeSupervision } from './supervision.ts';

const timeoutMs = 30_000;
const lookEveryMs = 20;

/**
 * From its end until the answer is called, or until this process ends, the supervisor does not start it. For the holder of
 * the cluster's lock.
 */
export async function pauseProcess(
  processes: Processes,
  root: string,
  role: string,
  why: string,
): Promise<() => void> {
  const mark = (paused: readonly { readonly role: string; readonly by: ReturnType<typeof recordOf> }[]) => {
    const spec = readSupervision(root);
    if (!spec) return; // the cluster is being ended
    writeSupervision(root, { ...spec, paused });
    const supervisor = livingSupervisor(root);
    if (supervisor) process.kill(supervisor.pid, 'SIGHUP');
  };
  const resume = (): void => mark([]);
  mark([{ role, by: recordOf(why, process.pid) }]);
  try {
    await repairSupervisor(processes, root);
    const until = performance.now() + timeoutMs;
    while (readSupervision(root) && supervisedState(root, role)?.pausedBy === undefined) {
      const supervisor = livingSupervisor(root);
      if (performance.now() > until)
        throw new Error(
          `the supervisor (pid ${supervisor?.pid ?? 'none'}) does not leave ${role} stopped: end it, another one is started; then try again`,
        );
      await delay(lookEveryMs);
    }
  } catch (error) {
    resume();
    throw error;
  }
  return resume;
}
