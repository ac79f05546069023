// What `porthole status` says when the disk took no news of the processes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { writeSupervisorState } from '../supervisor/supervision.ts';
import { fullDiskText, nodeText, processesOf } from './cluster-report.ts';
import { clusterPaths, writeClusterState } from './cluster-state.ts';
import { recordOf } from './own-processes.ts';
import { simulatedState } from './testing/simulated-state.ts';

test('a server that the supervisor could not write down is found among the processes', async (t) => {
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
  const processOf = await processesOf(paths, simulatedState);
  assert.deepEqual(processOf('server'), {
    running: true,
    pid: child.pid,
    restarts: 0,
    message: `pid ${child.pid}`,
  });
  assert.deepEqual(processOf('agent linux-1'), {
    running: false,
    pid: undefined,
    restarts: 0,
    message: 'not running',
  });
});

test('a disk without a byte, or without a file, is named', () => {
  assert.equal(fullDiskText('/c', { bavail: 1, ffree: 1, files: 9 }), undefined);
  assert.equal(fullDiskText('/c', { bavail: 1, ffree: 0, files: 0 }), undefined, 'it counts no files');
  for (const space of [
    { bavail: 0, ffree: 1, files: 9 },
    { bavail: 1, ffree: 0, files: 9 },
  ])
    assert.equal(fullDiskText('/c', space), 'the disk of /c is full: free some space');
});

test('a node that is not Ready, or not there, is told with what to do', () => {
  const of = (ready: boolean | undefined, registered: boolean | undefined, reason = '', cordoned = false) =>
    nodeText({ name: 'linux-1', cordoned, ready, registered, reason }, 'x');
  assert.equal(of(true, true), ', Ready');
  assert.equal(
    of(true, true, '', true),
    ', Ready, cordoned: kubectl uncordon linux-1 lets new pods come to it',
  );
  assert.match(of(false, true, 'x', true), /^, NotReady \(x\): .*, cordoned: /);
  assert.equal(
    of(false, true, 'Kubelet stopped posting node status.'),
    ', NotReady (Kubelet stopped posting node status.): porthole up --name x repairs its network and processes',
  );
  assert.equal(of(undefined, false), ', not registered: porthole up --name x registers it again');
  assert.equal(of(undefined, undefined), '');
});
