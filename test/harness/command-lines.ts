// Whatever runs on the machine, in containers too, by its command line.
import { readdirSync, readFileSync } from 'node:fs';

interface CommandLine {
  readonly pid: number;
  readonly args: readonly string[];
}

export function commandLines(): CommandLine[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
      return [{ pid: Number(pid), args }];
    } catch {
      return []; // it ended meanwhile
    }
  });
}

export const withArgument = (argument: string): CommandLine[] =>
  commandLines().filter(({ args }) => args.includes(argument));
