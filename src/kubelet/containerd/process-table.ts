// The machine's processes as /proc shows them: who runs, with which arguments, since when.
import type { Files } from '../../os/files.ts';
import { parseProcessStat } from '../../os/process-stat.ts';

export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly args: readonly string[];
}

/** Clock ticks since boot at which the process started: with the pid it is unique. Undefined: no such process, or a zombie. */
export async function startTimeOf(files: Files, pid: number): Promise<string | undefined> {
  let stat: Buffer | undefined;
  try {
    stat = await files.readIfThere(`/proc/${pid}/stat`);
  } catch {
    return undefined; // it ended while it was read (ESRCH)
  }
  if (stat === undefined) return undefined;
  const { startTicks, ended } = parseProcessStat(stat.toString());
  return ended ? undefined : startTicks;
}

/** All processes, or those that have `argument` in their command line. */
export async function processesWithArgument(
  files: Files,
  argument: string | undefined,
): Promise<RunningProcess[]> {
  const found: RunningProcess[] = [];
  for (const name of await files.list('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const args = (await files.read(`/proc/${name}/cmdline`)).toString().split('\0').slice(0, -1);
      if (argument !== undefined && !args.includes(argument)) continue;
      const stat = (await files.read(`/proc/${name}/stat`)).toString();
      found.push({ pid: Number(name), parent: parseProcessStat(stat).parent, args });
    } catch {} // the process ended between the two reads
  }
  return found;
}
