// The record of a cluster: damage to it does not take the commands away that would repair the cluster.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { howToStop } from '../compose/data-directory.ts';
import { writeSupervisorState } from '../supervisor/supervision.ts';
import { clusterPaths, readClusterState, writeClusterState } from './cluster-state.ts';
import { simulatedState as state } from './testing/simulated-state.ts';

const damage: readonly string[] = ['', '{"name": "x"', 'null', '{}', '[]', '\0\0\0\0'];

test('a damaged record of a cluster, or of its supervisor, is made good from what is left', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'state-'));
  t.after(() => rm(home, { recursive: true }));
  const paths = clusterPaths(home, 'x');
  assert.equal(readClusterState(paths), undefined);
  writeClusterState(paths, state);
  for (const text of damage) {
    writeFileSync(paths.state, text);
    assert.deepEqual(readClusterState(paths), state, JSON.stringify(text));
  }
  const running = { role: 'server', pid: 7, startTicks: '9' };
  writeSupervisorState(paths.root, { pid: 1, startTicks: '1', processes: [{ ...running, restarts: 0 }] });
  assert.deepEqual(readClusterState(paths)?.processes, [running]);
  for (const text of damage) {
    writeFileSync(join(paths.root, 'supervisor.json'), text);
    assert.deepEqual(readClusterState(paths)?.processes, [], JSON.stringify(text));
  }
  rmSync(paths.state);
  assert.deepEqual(readClusterState(paths)?.name, 'x', 'the copy of one that is gone');
  rmSync(`${paths.state}.copy`);
  const unreadable =
    /cluster\.json cannot be read, nor can its copy; nothing was touched\. .*end the processes .* holds .*supervisor\.json/;
  assert.throws(() => readClusterState(paths), unreadable, 'both are gone, and a cluster is there');
  writeFileSync(paths.state, '{');
  assert.throws(() => readClusterState(paths), unreadable);
});

test('a cluster of an earlier version, whose record has no id, is known by its name, also to the down that follows', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'state-'));
  t.after(() => rm(home, { recursive: true }));
  const paths = clusterPaths(home, 'x');
  writeClusterState(paths, state);
  const { id: _, ...earlier } = state;
  for (const file of [paths.state, `${paths.state}.copy`]) writeFileSync(file, JSON.stringify(earlier));
  const read = readClusterState(paths)!;
  assert.deepEqual(read, { ...state, id: 'x', earlier: true });
  writeClusterState(paths, { ...read, ending: true });
  assert.deepEqual(readClusterState(paths), { ...state, id: 'x', earlier: true, ending: true });
});

test('whoever finds a server folder finds its cluster, also when the record is gone and the copy is there', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'state-'));
  t.after(() => rm(home, { recursive: true }));
  const { server, state: record } = clusterPaths(home, 'x');
  assert.equal(howToStop(server), 'end that server first');
  writeClusterState(clusterPaths(home, 'x'), state);
  for (const file of [undefined, record, `${record}.copy`]) {
    if (file !== undefined) rmSync(file);
    writeSupervisorState(clusterPaths(home, 'x').root, { pid: 1, startTicks: '1', processes: [] });
    assert.match(howToStop(server), /with --name x instead of --data-dir/);
  }
});
