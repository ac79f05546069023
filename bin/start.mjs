// npm start: a cluster on this machine and a Windows and a Linux program that talk to each other.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const { status } = spawnSync(
  process.execPath,
  [fileURLToPath(new URL('./porthole', import.meta.url)), 'start', ...process.argv.slice(2)],
  { stdio: 'inherit' },
);
process.exit(status ?? 1);
