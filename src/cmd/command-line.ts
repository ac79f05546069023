// The command line: argv to a command, and errors to people.
import { nextStepAfter } from './next-step.ts';
import { createProgram } from './program.ts';

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

export async function runCommandLine(argv: readonly string[]): Promise<void> {
  try {
    // `porthole __complete -- words`: of the scripts that `porthole completion` prints.
    if (argv[2] === '__complete') {
      const { printCandidates } = await import('./completion/complete.ts');
      return await printCandidates(argv.slice(4));
    }
    const program = await createProgram(argv[2]);
    await program.parseAsync(argv);
  } catch (error) {
    console.error(`porthole: ${textOf(error)}`);
    if (process.env['PORTHOLE_DEBUG'] && error instanceof Error) console.error(error.stack);
    // Now: whatever else a failed command has left open must not keep it here, where nobody would start it again.
    process.exit(1);
  }
}
