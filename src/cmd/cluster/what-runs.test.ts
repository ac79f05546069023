// Which processes are a cluster's: what a stranger starts with the same words is not.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { type ClusterState, clusterPaths } from './cluster-state.ts';
import { runningProcesses } from './what-runs.ts';

const isRoot = process.getuid?.() === 0;
const paths = clusterPaths('/nowhere/at-all', 'x');
const state = { nodes: [], processes: [] } as unknown as ClusterState;

/** A program that has the arguments of the cluster's server; `before` is put before it. */
async function rolesWhile(before: readonly string[], uid?: number): Promise<string[]> {
  const script = "console.log('up'); setInterval(() => {}, 1000)";
  const words = ['-e', script, '--', 'server', '--data-dir', paths.server];
  const [program, ...args] = [...before, process.execPath, ...words];
  const child = spawn(program!, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    ...(uid === undefined ? {} : { uid }),
  });
  const ended = once(child, 'exit');
  try {
    await once(child.stdout, 'data');
    const found = await runningProcesses(linuxFiles, paths, state);
    // A program in front, such as unshare, is ours and has the words, too.
    return found.filter(({ pid }) => pid !== child.pid || before.length === 0).map(({ role }) => role);
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

test('what runs with the words of the cluster’s server is found, also when nobody wrote it down', async () => {
  assert.deepEqual(await rolesWhile([]), ['server']);
});

test('another user’s program, or one in namespaces of its own, is not taken for the server', {
  skip: isRoot ? false : 'needs root to be somebody else',
}, async () => {
  assert.deepEqual(await rolesWhile([], 65534), []);
  const namespaces = ['unshare', '--pid', '--mount', '--fork', '--kill-child=KILL'];
  assert.deepEqual(await rolesWhile(namespaces), []);
});
