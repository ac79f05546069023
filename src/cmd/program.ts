// The command line's table of commands.
import type { Command } from 'commander';
import { commands } from './command-registry.ts';
import { programOf } from './program-of.ts';

/** `named`: the first word. Only that command is read when it is one; else all are, to show which there are. */
export async function createProgram(named: string | undefined): Promise<Command> {
  const read = named === undefined ? undefined : commands.get(named);
  return programOf(await Promise.all(read ? [read()] : [...commands.values()].map((one) => one())));
}
