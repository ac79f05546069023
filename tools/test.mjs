// npm test: installs what is missing, then runs the tests on the pinned Node. Plain JavaScript for Node >= 20.
import { spawnSync } from 'node:child_process';
import { ensureInstalled } from './ensure-installed.mjs';
import { pinnedNode } from './pinned-node.mjs';

ensureInstalled();
const { status, signal } = spawnSync(pinnedNode(), ['tools/test.ts', ...process.argv.slice(2)], {
  stdio: 'inherit',
});
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
