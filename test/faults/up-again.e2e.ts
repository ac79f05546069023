// `up` of a cluster that is up, or was: what somebody took from it comes back, or the message says the very next command.
import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ClusterPaths, clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { supervisedState } from '../../src/cmd/supervisor/supervision.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { storeFiles } from '../../src/storage/sqlite/examine.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';

const limit = { timeout: 300_000 };
const name = 'again';
const bundle = fileURLToPath(new URL('../../dist/porthole.mjs', import.meta.url));
let cluster: TestCluster;
let paths: ClusterPaths;

before(async () => {
  cluster = await startTestCluster({ name, linux: 1, runtime: 'simulated' });
  paths = clusterPaths(cluster.home, name);
}, limit);
after(() => cluster?.down(), limit);

const upOf = (cluster: string): string[] => [
  ...['up', '--name', cluster, '--linux', '1', '--windows', '0', '--runtime', 'simulated'],
];
async function refused(args: readonly string[], says: RegExp): Promise<void> {
  const { code, stderr } = await cluster.porthole(args);
  assert.equal(code, 1, stderr);
  assert.match(stderr, says);
}

test('a Node that was deleted is registered again by up, and nothing else is touched', limit, async () => {
  const server = supervisedState(paths.root, 'server')?.pid;
  await cluster.kubectl.ok(['delete', 'node', 'linux-1']);
  assert.match(
    (await cluster.porthole(['status', '--name', name])).stdout,
    /^linux-1 .*, not registered: porthole up --name again registers it again$/m,
  );
  const { code, stderr } = await cluster.porthole(upOf(name));
  assert.equal(code, 0, stderr);
  assert.match(stderr, /linux-1: its Node is gone; its agent starts again and registers it/);
  assert.match(await cluster.kubectl.ok(['get', 'node', 'linux-1']), / Ready /);
  assert.equal(supervisedState(paths.root, 'server')?.pid, server);
  assert.equal(supervisedState(paths.root, 'agent linux-1')?.restarts, 0, 'no accident');
});

test(
  "the quota that up was given last is the server's from its next start on, and stays",
  limit,
  async () => {
    const startedAnew = async (): Promise<void> => {
      const before = supervisedState(paths.root, 'server')?.pid;
      process.kill(before!, 'SIGKILL');
      await eventually(
        () => {
          const { pid, answered } = supervisedState(paths.root, 'server') ?? {};
          assert.ok(pid !== undefined && pid !== before && answered === true);
        },
        { timeoutMs: 60_000 },
      );
    };
    const create = (map: string): Promise<{ readonly code: number; readonly stderr: string }> =>
      cluster.kubectl.run(['create', 'configmap', map]);
    const full = /etcdserver: mvcc: database space exceeded/;
    const little = await cluster.porthole([...upOf(name), '--quota-backend-bytes', '1000']);
    assert.equal(little.code, 0, little.stderr);
    assert.equal((await create('before-the-next-start')).code, 0);
    await startedAnew();
    assert.match((await create('too-much')).stderr, full);
    const as = await cluster.porthole(upOf(name));
    assert.equal(as.code, 0, as.stderr);
    await startedAnew();
    assert.match((await create('too-much')).stderr, full);
    const more = await cluster.porthole([...upOf(name), '--quota-backend-bytes', String(1 << 30)]);
    assert.equal(more.code, 0, more.stderr);
    await startedAnew();
    assert.equal((await create('room')).code, 0);
  },
);

test('up on an address that this machine does not have makes nothing', limit, async () => {
  for (const address of ['nonsense', '192.0.2.77'])
    await refused(
      [...upOf('other'), '--bind-address', address],
      /^porthole: --bind-address .* is no .*this machine has .*\n$/,
    );
  assert.equal(existsSync(clusterPaths(cluster.home, 'other').root), false);
});

test('^C in up says what is left and how to go on', limit, async () => {
  const other = clusterPaths(cluster.home, 'cut');
  const env = { PORTHOLE_HOME: cluster.home, PORTHOLE_CACHE: portholeCache() };
  const child = linuxProcesses.spawn(process.execPath, [bundle, ...upOf('cut')], { env });
  let said = '';
  child.stdout?.resume();
  child.stderr?.on('data', (data) => {
    said += String(data);
  });
  await eventually(() => assert.ok(existsSync(other.state)), { everyMs: 1, timeoutMs: 60_000 });
  process.kill(child.pid, 'SIGINT');
  assert.equal(await child.exited, 130, said);
  assert.match(said, /interrupted: .*cluster cut .*porthole down --name cut takes it down\n$/);
  const { code, stderr } = await cluster.porthole(['down', '--name', 'cut']);
  assert.equal(code, 0, stderr);
});

test(
  'a kubeconfig that is gone: the commands say so, restore needs none, up writes it again',
  limit,
  async () => {
    const file = join(cluster.home, 'kept.backup');
    const { code, stderr } = await cluster.porthole(['backup', '--name', name, file]);
    assert.equal(code, 0, stderr);
    rmSync(paths.kubeconfig);
    await refused(
      ['kubeconfig', '--name', name],
      /kubeconfig is gone; porthole up --name again, .*writes it again/,
    );
    const restored = await cluster.porthole(['restore', '--name', name, file]);
    assert.equal(restored.code, 0, restored.stderr);
    assert.match(restored.stderr, /✓ the server is back/);
    assert.equal((await cluster.porthole(upOf(name))).code, 0);
    assert.ok(existsSync(paths.kubeconfig));
  },
);

test('backup to a folder that is not there is refused', limit, () =>
  refused(
    ['backup', '--name', name, join(cluster.home, 'none/x.backup')],
    /there is no folder .*\/none to write/,
  ),
);

test(
  'up stops waiting for a server whose store is damaged; the command that it names works',
  limit,
  async () => {
    const file = join(cluster.home, 'kept.backup');
    const server = supervisedState(paths.root, 'server')?.pid;
    // In the place of the store that the server has open: the next start finds this one.
    const database = join(paths.server, 'db', storeFiles.database);
    writeFileSync(`${database}.bad`, Buffer.alloc(8192, 7));
    renameSync(`${database}.bad`, database);
    process.kill(server!, 'SIGKILL');
    // The supervisor has tried often enough to wait for a while with the next start.
    await eventually(() => assert.ok((supervisedState(paths.root, 'server')?.restarts ?? 0) >= 4), {
      timeoutMs: 60_000,
    });
    await refused(
      upOf(name),
      /server does not stay; the end of .*\/server\.log:\nporthole: the store in .* is damaged.*\n( {2}because.*\n)* {2}next: porthole restore --name again FILE, or porthole repair --name again\n$/,
    );
    await refused(
      ['restore', '--force', '--data-dir', join(cluster.home, 'nowhere'), `${file}.none`],
      /next: check the path/,
    );
    const restored = await cluster.porthole(['restore', '--name', name, file]);
    assert.equal(restored.code, 0, restored.stderr);
    assert.equal((await cluster.porthole(upOf(name))).code, 0);
  },
);

test('the folder of a known server that is gone is not begun anew in silence', limit, async () => {
  const gone = join(cluster.home, 'gone');
  renameSync(paths.server, gone);
  const says =
    /everything is missing from .*\/server, which was in use: bring it back \(porthole restore --name again FILE\), or begin anew \(porthole down --name again, then porthole up --name again\)/;
  await refused(upOf(name), says);
  assert.match((await cluster.porthole(['status', '--name', name])).stdout, says);
  const server = supervisedState(paths.root, 'server')?.pid;
  process.kill(server!, 'SIGKILL');
  await eventually(async () => {
    const { stdout } = await cluster.porthole(['logs', '--name', name, '--tail', '3']);
    assert.match(stdout, says);
  });
  const file = join(cluster.home, 'kept.backup');
  const { code, stderr } = await cluster.porthole(['restore', '--name', name, file]);
  assert.equal(code, 0, stderr);
  assert.equal((await cluster.porthole(upOf(name))).code, 0);
  assert.match(await cluster.kubectl.ok(['get', 'node', 'linux-1']), / Ready /);
});
