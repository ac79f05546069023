// Installs the npm packages of the lock file when one is missing or has another version. Plain JavaScript for Node >= 20.
import { spawnSync } from 'node:child_process';
import { lstatSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function packagesOf(path) {
  try {
    return JSON.parse(readFileSync(`${root}${path}`, 'utf8')).packages ?? {};
  } catch {
    return undefined;
  }
}

/** npm writes what it installed to node_modules/.package-lock.json; packages for other machines are not in it. */
function isInstalled() {
  const wanted = packagesOf('package-lock.json') ?? {};
  const installed = packagesOf('node_modules/.package-lock.json');
  if (!installed) return false;
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    if (path === '' || (optional && !installed[path])) return true;
    return installed[path]?.version === version;
  });
}

/** What a link leads to belongs to somebody else: npm would empty it. */
const isLink = () => lstatSync(`${root}node_modules`, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** Install scripts are never run: nothing downloads binaries behind npm's back. */
export function ensureInstalled() {
  if (isInstalled() || isLink()) return;
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
