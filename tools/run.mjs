// Runs a TypeScript file of this repository on the pinned Node, whatever Node started us; installs what is missing before.
import { spawnSync } from 'node:child_process';
import { ensureInstalled } from './ensure-installed.mjs';
import { pinnedNode } from './pinned-node.mjs';

ensureInstalled();
const { status, signal } = spawnSync(pinnedNode(), process.argv.slice(2), { stdio: 'inherit' });
if (signal) process.kill(process.pid, signal);
process.exit(status ?? 1);
