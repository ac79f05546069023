// What /proc/PID/stat says of a process. Its start time makes a process number unique: numbers are used again.

export interface ProcessStat {
  readonly parent: number;
  /** Clock ticks from the machine's start to the process's. */
  readonly startTicks: string;
  /**
   * It has ended; only its parent has not asked for its exit code yet. What its first thread held may be held by others for a
   * moment longer: a lock, say, on the folder that somebody waits for.
   */
  readonly ended: boolean;
}

export function parseProcessStat(text: string): ProcessStat {
  // The program's name may hold spaces and brackets; fields are counted after its last bracket.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    parent: Number(fields[1]),
    startTicks: fields[19] ?? '',
    ended: (fields[0] === 'Z' && Number(fields[17]) <= 1) || fields[0] === 'X',
  };
}
