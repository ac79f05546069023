// A command that the bundle has as a script of its own.
import { join } from 'node:path';
import { runOwnScript, type Take } from './own-script.ts';
import { portholeCache } from './setup/locations.ts';
import { ownScript } from './setup/package-root.ts';

/** False when it is none. `take`: it is not run, but handed out. */
export function runOwn(command: string | undefined, take?: Take): boolean {
  const script = ownScript(command);
  return script !== undefined && runOwnScript(script, join(portholeCache(), 'compiled'), take);
}
