// The command line: argv to a command.
import { createProgram } from './program.ts';
import { sayingErrors } from './say-errors.ts';

export const runCommandLine = (argv: readonly string[]): Promise<void> =>
  sayingErrors(async () => {
    // `porthole __complete -- words`: of the scripts that `porthole completion` prints.
    if (argv[2] === '__complete') {
      const { printCandidates } = await import('./completion/complete.ts');
      return await printCandidates(argv.slice(4));
    }
    const program = await createProgram(argv[2]);
    return await program.parseAsync(argv);
  });
