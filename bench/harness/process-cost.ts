// What a process has cost so far: CPU time and memory, read from /proc.
import { readFileSync } from 'node:fs';

const ticksPerSecond = 100; // USER_HZ, the same on every Linux that Node runs on

/** User and system time of the process and its threads, in microseconds; the kernel rounds to 10 ms. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) / ticksPerSecond) * 1_000_000;
}

export interface Memory {
  /** All pages of the process, in MB of 1,000,000 bytes. */
  readonly rss: number;
  /** Pages that several processes share count in parts: what a sum over processes may be made of. */
  readonly pss: number;
}

export function memory(pid: number): Memory {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  const megabytes = (field: string): number =>
    (Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1_024) / 1_000_000;
  return { rss: megabytes('Rss'), pss: megabytes('Pss') };
}
