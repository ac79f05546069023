// Installs the npm packages of the lock file when they are missing or older than it. Plain JavaScript for Node >= 20.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** True when node_modules was written after the lock file changed. */
function upToDate() {
  const installed = `${root}node_modules/.package-lock.json`;
  if (!existsSync(installed)) return false;
  return statSync(installed).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs;
}

/** Install scripts are never run: nothing downloads binaries behind npm's back. */
export function ensureInstalled() {
  if (upToDate()) return;
  console.error('porthole: installing npm packages (npm ci) …');
  const { status } = spawnSync(
    'npm',
    ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'],
    { cwd: root, stdio: 'inherit' },
  );
  if (status !== 0) {
    console.error('porthole: npm ci failed; is the npm registry reachable? Try "npm ci" by hand to see why.');
    process.exit(1);
  }
}
