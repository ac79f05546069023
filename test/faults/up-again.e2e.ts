// `up` of a cluster that is up, or was: what somebody took from it comes back, or the message says the very next command.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type ClusterPaths, clusterPaths } from '../../src/cmd/cluster/cluster-state.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { supervisedState } from '../../src/cmd/supervisor/supervision.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
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

test(
  'N4: a Node that was deleted is registered again by up, and nothing else is touched',
  limit,
  async () => {
    const server = supervisedState(paths.root, 'server')?.pid;
    await cluster.kubectl.ok(['delete', 'node', 'linux-1']);
    const { code, stderr } = await cluster.porthole(upOf(name));
    assert.equal(code, 0, stderr);
    assert.match(stderr, /linux-1: its Node is gone; its agent starts again and registers it/);
    assert.match(await cluster.kubectl.ok(['get', 'node', 'linux-1']), / Ready /);
    assert.equal(supervisedState(paths.root, 'server')?.pid, server);
    assert.equal(supervisedState(paths.root, 'agent linux-1')?.restarts, 0, 'no accident');
  },
);

test('N11: up on an address that this machine does not have makes nothing', limit, async () => {
  for (const address of ['nonsense', '192.0.2.77'])
    await refused(
      [...upOf('other'), '--bind-address', address],
      /^porthole: --bind-address .* is no .*this machine has .*\n$/,
    );
  assert.equal(existsSync(clusterPaths(cluster.home, 'other').root), false);
});

test('N22: ^C in up says what is left and how to go on', limit, async () => {
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
