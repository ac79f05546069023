// Errors of a command, told to people.
import { nextStepAfter } from './next-step.ts';

/** An error with its causes, and what to do about it. */
function textOf(error: unknown): string {
  const lines = [error instanceof Error ? error.message : String(error)];
  for (
    let cause = error instanceof Error ? error.cause : undefined;
    cause instanceof Error;
    cause = cause.cause
  )
    // Most errors end with what caused them: twice is no clearer.
    if (!lines.at(-1)!.includes(cause.message)) lines.push(`  because: ${cause.message}`);
  const next = nextStepAfter(error);
  if (next !== undefined) lines.push(`  next: ${next}`);
  return lines.join('\n');
}

/** Ends the process when `command` fails. */
export async function sayingErrors(command: () => Promise<unknown>): Promise<void> {
  try {
    await command();
  } catch (error) {
    console.error(`porthole: ${textOf(error)}`);
    if (process.env['PORTHOLE_DEBUG'] && error instanceof Error) console.error(error.stack);
    // Now: whatever else a failed command has left open must not keep it here, where nobody would start it again.
    process.exit(1);
  }
}
