// The command line's first file: what it has compiled is kept, for everything that is imported after this.
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { portholeCache } from './setup/locations.ts';

enableCompileCache(join(portholeCache(), 'compile-cache'));
const { runCommandLine } = await import('./command-line.ts');
await runCommandLine(process.argv);
