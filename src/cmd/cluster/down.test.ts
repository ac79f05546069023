// What `down` leaves alone: it removes nothing of a cluster that it does not know, and whose processes may run.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Progress } from '../progress.ts';
import { type SupervisedState, writeSupervision, writeSupervisorState } from '../supervisor/supervision.ts';
import { type ClusterPaths, clusterPaths, writeClusterState } from './cluster-state.ts';
import { down } from './down.ts';
import { isAlive, recordOf } from './own-processes.ts';
import { simulatedState } from './testing/simulated-state.ts';

const progress: Progress = { say: () => {}, step: (_, body) => body(() => {}) };

interface Running {
  readonly home: string;
  readonly paths: ClusterPaths;
  readonly supervisor: SupervisedState;
}

/** A simulated cluster: a process in its supervisor's place, and data. */
async function runningCluster(t: TestContext, prepare: (home: string) => void = () => {}): Promise<Running> {
  const home = await mkdtemp(join(tmpdir(), 'down-'));
  prepare(home);
  const paths = clusterPaths(home, 'x');
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(home, { recursive: true, force: true });
  });
  writeClusterState(paths, simulatedState);
  const supervisor = { ...recordOf('supervisor', child.pid!), restarts: 0 };
  writeSupervision(paths.root, { processes: [], running: [], environment: {} });
  writeSupervisorState(paths.root, { ...supervisor, processes: [] });
  mkdirSync(join(paths.server, 'db'), { recursive: true });
  writeFileSync(join(paths.server, 'db/state.db'), 'data');
  return { home, paths, supervisor };
}
const runs = ({ role, pid, startTicks }: SupervisedState): boolean =>
  isAlive({ role, pid: pid!, startTicks: startTicks! });

test('down of a cluster whose record is gone goes by the copy, and ends what runs', async (t) => {
  const { home, paths, supervisor } = await runningCluster(t);
  rmSync(paths.state);
  assert.equal(await down({ home, name: 'x' }, progress), true);
  assert.equal(runs(supervisor), false);
  assert.equal(existsSync(paths.root), false);
});

test('without record and copy, down says what is there, and ends and removes nothing', async (t) => {
  const { home, paths, supervisor } = await runningCluster(t);
  for (const file of [paths.state, `${paths.state}.copy`]) rmSync(file);
  await assert.rejects(
    down({ home, name: 'x' }, progress),
    /nor can its copy; nothing was touched\. .* holds server, supervision\.json, supervisor\.json$/,
  );
  assert.equal(runs(supervisor), true);
  assert.equal(readFileSync(join(paths.server, 'db/state.db'), 'utf8'), 'data');
  assert.ok(existsSync(join(paths.root, 'supervision.json')), 'it is supervised on');
});

test('data without a cluster, as of a restore before the first up, stays; what a killed up left goes', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'down-'));
  t.after(() => rm(home, { recursive: true, force: true }));
  const paths = clusterPaths(home, 'x');
  mkdirSync(join(paths.server, 'db'), { recursive: true });
  await assert.rejects(down({ home, name: 'x' }, progress), /holds server; nothing was removed/);
  assert.ok(existsSync(join(paths.server, 'db')));
  rmSync(paths.server, { recursive: true });
  writeFileSync(`${paths.state}.new`, '{');
  assert.equal(await down({ home, name: 'x' }, progress), false);
  assert.equal(existsSync(paths.root), false);
});

test('what somebody has mounted beneath the cluster stays, and is named with the next step', {
  skip: process.getuid?.() !== 0 && 'only root mounts',
}, async (t) => {
  const { home, paths } = await runningCluster(t);
  const foreign = join(paths.root, 'foreign');
  mkdirSync(foreign);
  execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', foreign]);
  t.after(() => execFileSync('sh', ['-c', 'umount "$0" 2>/dev/null || true', foreign]));
  writeFileSync(join(foreign, 'kept'), 'theirs');
  await assert.rejects(down({ home, name: 'x' }, progress), (error: Error) =>
    error.message.endsWith(`; next: umount ${foreign}; porthole down --name x`),
  );
  assert.equal(readFileSync(join(foreign, 'kept'), 'utf8'), 'theirs');
  execFileSync('umount', [foreign]);
  assert.equal(await down({ home, name: 'x' }, progress), true);
  assert.equal(existsSync(paths.root), false);
});

test('of a command that was killed before there was a cluster nothing is left either', async (t) => {
  const home = await mkdtemp(join(tmpdir(), 'down-'));
  t.after(() => rm(home, { recursive: true }));
  mkdirSync(join(home, 'locks'));
  writeFileSync(join(home, 'locks/x'), '');
  assert.equal(await down({ home, name: 'x' }, progress), false);
  assert.deepEqual(readdirSync(home), []);
});

test('a cluster on a disk that is full ends, and gives its space back', {
  skip: process.getuid?.() !== 0 && 'only root mounts',
}, async (t) => {
  const { home, paths, supervisor } = await runningCluster(t, (folder) => {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', folder]);
    t.after(() => execFileSync('umount', ['--lazy', folder]));
  });
  mkdirSync(join(home, 'locks'));
  writeFileSync(join(home, 'locks/x'), '');
  const fill = join(paths.root, 'fill');
  assert.throws(() => writeFileSync(fill, Buffer.alloc(1 << 20)), /ENOSPC/);
  assert.throws(() => writeClusterState(paths, simulatedState), /ENOSPC/);
  assert.equal(await down({ home, name: 'x' }, progress), true);
  assert.equal(runs(supervisor), false);
  assert.equal(existsSync(paths.root), false);
});
