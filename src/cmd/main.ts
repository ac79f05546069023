// The command line: argv to a command, and errors to people.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { nextStepAfter } from './next-step.ts';
import { createProgram } from './program.ts';
import { portholeCache } from './setup/locations.ts';

enableCompileCache(join(portholeCache(), 'compile-cache'));
/** An error with its causes, and what to do about it. */
function textOf(error: unknown): string {
  const lines = [error instanceof Error ? error.message : String(error)];
  for (
    let cause = error instanceof Error ? error.cause : undefined;
    cause instanceof Error;
    cause = cause.cause
  )
    lines.push(`  because: ${cause.message}`);
  const next = nextStepAfter(error);
  if (next !== undefined) lines.push(`  next: ${next}`);
  return lines.join('\n');
}

try {
  await createProgram().parseAsync(process.argv);
} catch (error) {
  console.error(`porthole: ${textOf(error)}`);
  if (process.env.PORTHOLE_DEBUG && error instanceof Error) console.error(error.stack);
  // Now: whatever else a failed command has left open must not keep it here, where nobody would start it again.
  process.exit(1);
}
