// Finds and ends the long-running processes of a cluster on this machine.
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { parseProcessStat } from '../../os/process-stat.ts';
import type { RunningProcess } from '../supervisor/supervision.ts';

/** Start time in clock ticks since boot, or undefined when there is no such process (or only a zombie). */
export function startTicksOf(pid: number): string | undefined {
  try {
    const { startTicks, ended } = parseProcessStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return ended ? undefined : startTicks;
  } catch {
    return undefined;
  }
}

export function recordOf(role: string, pid: number): RunningProcess {
  const startTicks = startTicksOf(pid);
  if (startTicks === undefined) throw new Error(`${role} ended at once`);
  return { role, pid, startTicks };
}

export const isAlive = (record: RunningProcess): boolean => startTicksOf(record.pid) === record.startTicks;

/** SIGTERM, and SIGKILL for what is still there after `graceMs`. Resolves when all are gone. */
export async function endProcesses(records: readonly RunningProcess[], graceMs: number): Promise<void> {
  const alive = (): RunningProcess[] => records.filter(isAlive);
  const send = (signal: NodeJS.Signals): void => {
    for (const record of alive()) {
      try {
        process.kill(record.pid, signal);
      } catch {
        // It ended between the look and the signal.
      }
    }
  };
  send('SIGTERM');
  const until = performance.now() + graceMs;
  while (alive().length > 0 && performance.now() < until) await delay(10);
  send('SIGKILL');
  const killedUntil = performance.now() + 5_000;
  while (alive().length > 0 && performance.now() < killedUntil) await delay(10);
  const left = alive();
  if (left.length > 0)
    throw new Error(`still running after SIGKILL: ${left.map((r) => `${r.role} (pid ${r.pid})`).join(', ')}`);
}
