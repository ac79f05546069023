// The machine's processes as /proc shows them: who runs, with which arguments, since when.
import type { Files } from '../../os/files.ts';

export interface RunningProcess {
  readonly pid: number;
  readonly parent: number;
  readonly args: readonly string[];
}

/** Fields of /proc/PID/stat after the command in parentheses: [0] is the state, [1] the parent, [19] the start time. */
function statFields(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
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
  const fields = statFields(stat.toString());
  return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
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
      found.push({ pid: Number(name), parent: Number(statFields(stat)[1]), args });
    } catch {} // the process ended between the two reads
  }
  return found;
}
