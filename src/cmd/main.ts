// The command line's first file: what is compiled is kept, for everything that is read after this.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { runOwn } from './run-own.ts';
import { cacheIfAny } from './setup/locations.ts';

const cache = cacheIfAny();
if (cache !== undefined) enableCompileCache(join(cache, 'compile-cache'));
if (!runOwn(process.argv[2])) {
  const { runCommandLine } = await import('./command-line.ts');
  await runCommandLine(process.argv);
}
