// npm stop: takes the cluster of npm start down; nothing is left.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const { status } = spawnSync(
  process.execPath,
  [fileURLToPath(new URL('./porthole', import.meta.url)), 'stop', ...process.argv.slice(2)],
  { stdio: 'inherit' },
);
process.exit(status ?? 1);
