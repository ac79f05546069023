// A command that the bundle has as a script of its own.
import { join } from 'node:path';
import { runOwnScript, type Take } from './own-script.ts';
import { cacheIfAny } from './setup/locations.ts';
import { ownScript } from './setup/package-root.ts';

/** False when it is none. `take`: it is not run, but handed out. */
export function runOwn(command: string | undefined, take?: Take): boolean {
  const script = ownScript(command);
  if (script === undefined) return false;
  const cache = cacheIfAny();
  return runOwnScript(script, cache === undefined ? undefined : join(cache, 'compiled'), take);
}
