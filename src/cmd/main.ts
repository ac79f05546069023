// The command line: argv to a command, and errors to people.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { createProgram } from './program.ts';
import { portholeCache } from './setup/locations.ts';

enableCompileCache(join(portholeCache(), 'compile-cache'));
try {
  await createProgram().parseAsync(process.argv);
} catch (error) {
  console.error(`porthole: ${error instanceof Error ? error.message : String(error)}`);
  if (process.env.PORTHOLE_DEBUG && error instanceof Error) console.error(error.stack);
  process.exitCode = 1;
}
