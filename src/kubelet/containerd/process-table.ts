// The machine's processes as /proc shows them: who runs, with which arguments, since when.
import type { Files } from '../../os/files.ts';
import { parseProcessStat } from '../../os/process-stat.ts';

export interface RunningProcess {
  readonly pid: number;
  readonly args: readonly string[];
}

/** A command line is up to 2 MB long, and all of it may be empty arguments. None that we look for is longer than this. */
const maxCommandLineBytes = 64 << 10;

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

const pidsThere = async (files: Files): Promise<string[]> =>
  (await files.list('/proc')).filter((name) => /^\d+$/.test(name));

/**
 * Whether a process is of our kind: our user's, in our namespaces. Anybody may give a program of theirs the arguments of a
 * server, in a pod too: it would be taken for one. And a pod's may be thousands, each with 2 MB of arguments in memory that
 * they share, or in memory that makes its readers wait: so nothing else of it is read.
 */
async function kindOfOurs(files: Files): Promise<(pid: string) => Promise<boolean>> {
  const namespaceOf = (pid: string, kind: string): Promise<string> =>
    files.readLink(`/proc/${pid}/ns/${kind}`);
  const userOf = async (pid: string): Promise<number | undefined> => (await files.stat(`/proc/${pid}`))?.uid;
  const own = { pid: await namespaceOf('self', 'pid'), mnt: await namespaceOf('self', 'mnt') };
  const user = await userOf('self');
  return async (pid) =>
    (await namespaceOf(pid, 'pid')) === own.pid &&
    (await namespaceOf(pid, 'mnt')) === own.mnt &&
    (await userOf(pid)) === user;
}

const sameWords = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((word, i) => word === b[i]);

/** It is about to become another program, or has ended: until its exec a child has the command line of its parent. */
async function isForked(
  files: Files,
  { pid, args }: RunningProcess,
  found: readonly RunningProcess[],
): Promise<boolean> {
  const twins = found.filter((one) => one.pid !== pid && sameWords(one.args, args));
  if (twins.length === 0) return false;
  const stat = await files.readIfThere(`/proc/${pid}/stat`).catch(() => undefined);
  if (stat === undefined) return true;
  const { parent } = parseProcessStat(stat.toString());
  return twins.some((one) => one.pid === parent);
}

/** Those of our kind that have `argument` in their command line. */
export async function processesWithArgument(files: Files, argument: string): Promise<RunningProcess[]> {
  const found: RunningProcess[] = [];
  const isOurs = await kindOfOurs(files);
  for (const pid of await pidsThere(files)) {
    try {
      if (!(await isOurs(pid))) continue;
      const commandLine = await files.readHead(`/proc/${pid}/cmdline`, maxCommandLineBytes);
      const args = commandLine?.toString().split('\0').slice(0, -1) ?? [];
      if (args.includes(argument)) found.push({ pid: Number(pid), args });
    } catch {} // it ended meanwhile, or is none of our business
  }
  const forked = await Promise.all(found.map((one) => isForked(files, one, found)));
  return found.filter((_, i) => !forked[i]);
}

/** Of all processes of the machine, pods' too: whose children they are. */
export async function childrenOfAll(files: Files): Promise<ReadonlyMap<number, readonly number[]>> {
  const children = new Map<number, number[]>();
  for (const pid of await pidsThere(files)) {
    try {
      const { parent } = parseProcessStat((await files.read(`/proc/${pid}/stat`)).toString());
      const siblings = children.get(parent);
      if (siblings === undefined) children.set(parent, [Number(pid)]);
      else siblings.push(Number(pid));
    } catch {} // it ended meanwhile
  }
  return children;
}
