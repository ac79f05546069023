// `porthole restore` and `repair` of a cluster that is up: its server stands aside for them and comes back, whatever is killed.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ClusterPaths, clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { readSupervisorState, supervisedState } from '../../src/cmd/supervisor/supervision.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { Child } from '../../src/os/processes.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const limit = { timeout: 300_000 };
const name = 'back';
const bundle = fileURLToPath(new URL('../../dist/porthole.mjs', import.meta.url));
let cluster: TestCluster;
let paths: ClusterPaths;
let file: string;

before(async () => {
  cluster = await startTestCluster({ name, linux: 1, runtime: 'simulated' });
  paths = clusterPaths(cluster.home, name);
  file = join(cluster.home, 'a.backup');
  await make('a');
  const { code, stderr } = await cluster.porthole(['backup', '--name', name, file]);
  assert.equal(code, 0, stderr);
}, limit);
after(() => cluster?.down(), limit);

const make = (map: string): Promise<string> => cluster.kubectl.ok(['create', 'configmap', map]);
async function maps(): Promise<string[]> {
  const { items } = await cluster.kubectl.json<{ items: { metadata: { name: string } }[] }>([
    'get',
    'configmaps',
  ]);
  return items.map(({ metadata }) => metadata.name).filter((one) => one !== 'kube-root-ca.crt');
}
const pidOf = (role: string): number | undefined => supervisedState(paths.root, role)?.pid;
const serverAnswers = (): Promise<void> =>
  eventually(async () => assert.equal(await cluster.kubectl.ok(['get', '--raw', '/readyz']), 'ok'), {
    timeoutMs: 60_000,
  });
const startRestore = (): Child => {
  const env = { PORTHOLE_HOME: cluster.home, PORTHOLE_CACHE: portholeCache() };
  const child = linuxProcesses.spawn(process.execPath, [bundle, 'restore', '--name', name, file], { env });
  child.stdout?.resume();
  child.stderr?.resume();
  return child;
};

test('restore --name stops the server, puts the backup in place and starts it again', limit, async () => {
  await make('b');
  const [server, agent, supervisor] = [
    pidOf('server'),
    pidOf('agent linux-1'),
    readSupervisorState(paths.root)?.pid,
  ];
  const { code, stdout, stderr } = await cluster.porthole(['restore', '--name', name, file]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /the server stops/);
  assert.match(stdout, /keys: kept; it goes on at revision 1\d{9}\nput aside: .*\/db\.before-/);
  assert.deepEqual(await maps(), ['a']);
  assert.notEqual(pidOf('server'), server);
  assert.equal(pidOf('agent linux-1'), agent);
  assert.equal(readSupervisorState(paths.root)?.pid, supervisor);
  assert.equal(supervisedState(paths.root, 'server')?.restarts, 0, 'nobody counts it as an accident');
  // Informers of agents and controllers begin anew: what is made now is seen.
  await cluster.kubectl.ok(['create', 'deployment', 'web', '--image', 'x']);
  await cluster.kubectl.ok(['rollout', 'status', 'deployment/web', '--timeout=60s']);
});

test(
  'what is no backup, and a store that nobody named, stop nothing; --data-dir says what to do',
  limit,
  async () => {
    const server = pidOf('server');
    const refused = async (args: readonly string[], says: RegExp): Promise<void> => {
      const { code, stderr } = await cluster.porthole(args);
      assert.equal(code, 1);
      assert.match(stderr, says);
    };
    await refused(['restore', '--name', name, process.execPath], /is damaged or no backup/);
    await refused(
      ['restore', '--data-dir', paths.server, file],
      /there is a store in .*: porthole restore --name back FILE puts it aside and restores over it/,
    );
    await refused(
      ['restore', '--force', '--data-dir', paths.server, file],
      /the store in .*\/server\/db is in use by another process: it is a cluster's that porthole up made; with --name back instead of --data-dir its server is stopped meanwhile/,
    );
    await refused(
      ['server', '--data-dir', paths.server, '--secure-port', '0'],
      /is in use by another process: end that one first/,
    );
    assert.equal(pidOf('server'), server);
  },
);

test('repair --name looks at the store of a cluster that is up', limit, async () => {
  const server = pidOf('server');
  const { code, stdout, stderr } = await cluster.porthole(['repair', '--name', name]);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /the store is whole/);
  assert.notEqual(pidOf('server'), server);
  await serverAnswers();
});

test(
  'while it lasts nothing starts the server, and status says why; when it is killed the server comes back',
  limit,
  async (t) => {
    const restore = startRestore();
    // One that stays stopped would hold the cluster, and the tests, for ever.
    t.after(() => restore.kill('SIGKILL'));
    await eventually(() => assert.ok(supervisedState(paths.root, 'server')?.pausedBy), { everyMs: 1 });
    process.kill(restore.pid, 'SIGSTOP');
    const old = pidOf('server');
    if (old !== undefined) process.kill(old, 'SIGKILL');
    // A new supervisor must not start it either.
    process.kill(readSupervisorState(paths.root)!.pid, 'SIGKILL');
    await eventually(async () => {
      const { stdout } = await cluster.porthole(['status', '--name', name]);
      assert.match(stdout, new RegExp(`^server: stopped for porthole restore \\(pid ${restore.pid}\\)`, 'm'));
      // The supervisor may have been killed before it saw that the server was: the next one sees it.
      assert.equal(pidOf('server'), undefined);
    });
    process.kill(restore.pid, 'SIGKILL');
    await restore.exited;
    await serverAnswers();
  },
);

test(
  'a restore that is killed anywhere has done all or nothing, and the server is back',
  limit,
  async (t) => {
    let done = 0;
    let nothing = 0;
    for (let i = 0; i < 12; i++) {
      await cluster.kubectl.run(['delete', 'configmap', 'b']);
      await make('b');
      const restore = startRestore();
      let ended = false;
      void restore.exited.then(() => {
        ended = true;
      });
      // The later half strikes in the middle of the work itself.
      if (i >= 4)
        await eventually(() => assert.ok(ended || existsSync(join(paths.server, 'db.new'))), { everyMs: 1 });
      await new Promise((resolve) => setTimeout(resolve, i < 4 ? i * 150 : (i - 4) * 25));
      process.kill(restore.pid, 'SIGKILL');
      await restore.exited;
      await serverAnswers();
      const found = await maps();
      assert.ok(found.includes('a'));
      if (found.includes('b')) nothing++;
      else done++;
      assert.deepEqual(
        readdirSync(paths.server).filter((one) => /\.new$|^replacing/.test(one)),
        [],
      );
    }
    t.diagnostic(`12 restores killed: ${done} were ended, ${nothing} had done nothing`);
    assert.ok(nothing > 0);
  },
);

test(
  'after an up that was refused for a missing key, restore puts it back and waits for no server',
  limit,
  async () => {
    const ended = await cluster.porthole(['down', '--keep', '--name', name]);
    assert.equal(ended.code, 0, ended.stderr);
    rmSync(join(paths.server, 'pki/ca.crt'));
    const up = [
      'up',
      '--name',
      name,
      '--runtime',
      'simulated',
      '--linux',
      '1',
      '--windows',
      '0',
      '--no-merge',
    ];
    const refused = await cluster.porthole(up);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /pki\/ca\.crt is missing .*porthole restore --name back FILE/);
    const status = await cluster.porthole(['status', '--name', name, '-o', 'json']);
    assert.equal(JSON.parse(status.stdout).items[0].phase, 'Stopped');
    const restored = await cluster.porthole(['restore', '--name', name, file]);
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stdout, /keys: restored/);
    const begun = await cluster.porthole(up);
    assert.equal(begun.code, 0, begun.stderr);
    assert.deepEqual(await maps(), ['a']);
  },
);
