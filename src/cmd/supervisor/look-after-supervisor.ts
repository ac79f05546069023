// Processes of a cluster look after their supervisor, as it does after them: while one of them lives, the rest comes back.
import { readlinkSync } from 'node:fs';
import type { Logger } from '../../component-base/logger.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { linuxProcesses } from '../../os/linux/processes-linux.ts';
import { isAlive } from '../cluster/own-processes.ts';
import { runningSupervisors } from './running-supervisors.ts';
import { livingSupervisor, spawnSupervisor } from './supervise-cluster.ts';
import { machineNetworkFd, readSupervision, supervisedProcesses, supervisedRootKey } from './supervision.ts';
import { supervisorTurn } from './turn-of.ts';

const lookEveryMs = 1_000;
/** Looks that a new supervisor has to show itself before another one is started. */
const patience = 5;

/** An agent lives in the network namespace of its node; the supervisor, and what that starts, does not. */
function intoMachineNetwork(): readonly string[] {
  const machine = `/proc/${process.pid}/fd/${machineNetworkFd}`;
  return readlinkSync(machine) === readlinkSync('/proc/self/ns/net')
    ? []
    : ['nsenter', `--net=${machine}`, '--'];
}

/** Answers with the looks that it was missed for. A `down` takes the supervision away first: then nobody misses it. */
async function look(root: string, missed: number, log: Logger): Promise<number> {
  if (!readSupervision(root) || livingSupervisor(root)) return 0;
  if (missed < supervisorTurn(supervisedProcesses(root) ?? [], process.pid, isAlive)) return missed + 1;
  // It lives, and says so again as soon as it can.
  if ((await runningSupervisors(linuxFiles, root)).length > 0) return missed;
  log.warn({}, 'the supervisor is gone; starting it again');
  spawnSupervisor(linuxProcesses, root, intoMachineNetwork());
  return -patience;
}

/** Does nothing in a process that no supervisor started. */
export function lookAfterSupervisor(log: Logger): void {
  const root = process.env[supervisedRootKey];
  if (root === undefined) return;
  let missed = 0;
  let looking = false;
  let lastTrouble: string | undefined;
  const lookOnce = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    try {
      missed = await look(root, missed, log);
      lastTrouble = undefined;
    } catch (error) {
      // It may stay for long.
      if (lastTrouble !== String(error)) log.warn({ error }, 'looking after the supervisor failed');
      lastTrouble = String(error);
    } finally {
      looking = false;
    }
  };
  setInterval(() => void lookOnce(), lookEveryMs).unref();
}
