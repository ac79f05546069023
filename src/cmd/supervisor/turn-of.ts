// Whose turn it is to start the supervisor again: one process after the other, so that not all do it at once.
import type { RunningProcess } from './supervision.ts';

/** Looks to wait: how many processes live that are named earlier. One that hangs costs the next one look, and no more. */
export function supervisorTurn(
  processes: readonly RunningProcess[],
  pid: number,
  isAlive: (process: RunningProcess) => boolean,
): number {
  const own = processes.findIndex((one) => one.pid === pid);
  return processes.slice(0, own < 0 ? processes.length : own).filter(isAlive).length;
}
