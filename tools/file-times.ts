// How long each file of tests took, and what its processes took of the processors: told for the slowest, so that whoever makes the run shorter knows where.
import { readFileSync } from 'node:fs';

interface FileTime {
  readonly seconds: number;
  /** Of all its processes; not known of a file that shares a process, or whose process is not ours to wait for. */
  readonly cpuSeconds?: number;
}

/** Linux counts in these, whatever the machine. */
const ticksPerSecond = 100;

/**
 * User and system time of a process's children that have ended, and of all that they waited for; `stat` as in /proc. A box's first
 * process waits for all of the box.
 */
export function endedChildrenSeconds(stat: string = readFileSync('/proc/self/stat', 'utf8')): number {
  // The name of the command may have blanks and brackets.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) / ticksPerSecond;
}

export class FileTimes {
  readonly #times = new Map<string, FileTime>();

  /** One more test of a file has ended. */
  add(file: string, seconds: number): void {
    this.#times.set(file, { seconds: (this.#times.get(file)?.seconds ?? 0) + seconds });
  }

  /** Of a file that had processes of its own, instead of what its tests say. */
  set(file: string, time: FileTime): void {
    this.#times.set(file, time);
  }

  slowest(most: number): string[] {
    return [...this.#times]
      .sort(([, a], [, b]) => b.seconds - a.seconds)
      .slice(0, most)
      .map(([file, { seconds, cpuSeconds }]) => {
        const cpu = cpuSeconds === undefined ? '' : `, ${cpuSeconds.toFixed(1)} s of processor time`;
        return `${seconds.toFixed(1).padStart(8)} s  ${file}${cpu}`;
      });
  }
}
