// What `porthole status` says when the disk took no news of the processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { clusterPaths, writeClusterState } from '../cluster/cluster-state.ts';
import { recordOf } from '../cluster/own-processes.ts';
import { simulatedState } from '../cluster/testing/simulated-state.ts';
import { writeSupervisorState } from '../supervisor/supervision.ts';
import { fullDiskText, nodeText, textsOf } from './status.ts';

test('B7: a server that the supervisor could not write down is found among the processes', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'status-'));
  t.after(() => rmSync(home, { recursive: true, force: true }));
  const paths = clusterPaths(home, 'x');
  writeClusterState(paths, simulatedState);
  const program = 'console.log(1); setInterval(() => {}, 1000)';
  const child = spawn(process.execPath, ['-e', program, 'server', '--data-dir', paths.server], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await once(child.stdout, 'data');
  const before = { role: 'server', pid: child.pid!, startTicks: '1', restarts: 0 };
  writeSupervisorState(paths.root, {
    ...recordOf('supervisor', process.pid),
    processes: [before, { role: 'agent linux-1', restarts: 0 }],
  });
  const textOf = await textsOf(paths, simulatedState);
  assert.equal(textOf('server'), `pid ${child.pid}`);
  assert.equal(textOf('agent linux-1'), 'not running');
});

test('B7: a disk without a byte, or without a file, is named', () => {
  assert.equal(fullDiskText('/c', { bavail: 1, ffree: 1, files: 9 }), undefined);
  assert.equal(fullDiskText('/c', { bavail: 1, ffree: 0, files: 0 }), undefined, 'it counts no files');
  for (const space of [
    { bavail: 0, ffree: 1, files: 9 },
    { bavail: 1, ffree: 0, files: 9 },
  ])
    assert.equal(fullDiskText('/c', space), 'the disk of /c is full: free some space');
});

test('B2: a node that is not Ready, or not there, is told with what to do', () => {
  const registered = new Map([
    ['a', { ready: true, why: '' }],
    ['b', { ready: false, why: 'Kubelet stopped posting node status.' }],
  ]);
  const of = (node: string): string => nodeText(registered, node, 'x');
  assert.equal(of('a'), '');
  assert.equal(
    of('b'),
    ', NotReady (Kubelet stopped posting node status.): porthole up --name x repairs its network and processes',
  );
  assert.equal(of('c'), ', not registered: porthole up --name x registers it again');
  assert.equal(nodeText(undefined, 'c', 'x'), '');
});
