// The command line of one command alone, as a script of the bundle is it.
import type { Command } from 'commander';
import { programOf } from './program-of.ts';
import { sayingErrors } from './say-errors.ts';

declare const PORTHOLE_TAKE: ((command: Command) => void) | undefined;

/** Runs it, unless somebody asked for the command itself, to show which there are. */
export function runOwnCommand(argv: readonly string[], command: Command): void {
  if (typeof PORTHOLE_TAKE !== 'undefined' && PORTHOLE_TAKE !== undefined) PORTHOLE_TAKE(command);
  else void sayingErrors(() => programOf([command]).parseAsync(argv));
}
