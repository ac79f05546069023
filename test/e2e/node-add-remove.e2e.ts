// Nodes come to a cluster that is up and leave it; `up`, `status` and `down` know them.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { listManifest, podSpec, serve, untilTerm } from '../harness/linux-cluster.ts';
import { machineTraces } from '../harness/machine-traces.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const limit = { timeout: 300_000 };
const name = 'nodes';
const bundle = fileURLToPath(new URL('../../dist/porthole.mjs', import.meta.url));
const scratch = scratchDirectory('nodes');
const paths = clusterPaths(scratch.path, name);
const added = ['windows-1', 'linux-2', 'linux-3', 'extra', 'cut'];
const traces = (): Promise<Record<string, string[]>> =>
  machineTraces(['linux-1', ...added].map((node) => nodeLayout(paths.node(node)).cgroupRoot));
let cluster: TestCluster;
let found: Record<string, string[]>;

before(async () => {
  found = await traces();
  cluster = await startTestCluster({ name, home: scratch.path, linux: 1, windows: 0 });
}, limit);
after(async () => {
  await cluster?.porthole(['down', '--name', name]);
  scratch.remove();
}, limit);

const node = async (...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await cluster.porthole(['node', ...args, '--name', name]);
  assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`);
  return stdout.trim();
};
async function refused(args: readonly string[], says: RegExp): Promise<void> {
  const { code, stdout, stderr } = await cluster.porthole(['node', ...args]);
  assert.equal(code, 1, `${args.join(' ')}: ${stdout}${stderr}`);
  assert.match(stderr, says);
}
interface Listed {
  readonly apiVersion: string;
  readonly kind: string;
  readonly items: readonly { readonly name: string; readonly address: string; readonly ready: boolean }[];
}
const listed = async (): Promise<Listed['items']> =>
  (JSON.parse(await node('list', '-o', 'json')) as Listed).items;
const addresses = async (): Promise<Record<string, string>> =>
  Object.fromEntries((await listed()).map((one) => [one.name, one.address]));

test('a Windows and a Linux node come, and their pods talk to those of the first', limit, async () => {
  assert.equal(await node('add', '--os', 'windows', '--build', 'ltsc2019'), 'windows-1');
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', name], { timeoutMs: 300_000 });
  assert.equal(loaded.code, 0, loaded.stderr);
  await cluster.kubectl.apply(
    listManifest(
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'windows-web', labels: { app: 'windows-web' } },
        spec: podSpec(
          {
            image: 'porthole.local/sample/web-windows:ltsc2019',
            readinessProbe: { httpGet: { path: '/healthz', port: 80 }, periodSeconds: 1 },
          },
          { nodeName: 'windows-1' },
        ),
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'windows-web' },
        spec: { selector: { app: 'windows-web' }, ports: [{ port: 80 }] },
      },
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'client' },
        spec: podSpec({ command: untilTerm }, { nodeName: 'linux-1' }),
      },
    ),
  );
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=50s']);
  const ask = ['exec', 'client', '--', 'timeout', '10', 'wget', '-qO-', 'http://windows-web/'];
  await eventually(async () => assert.match(await cluster.kubectl.ok(ask), /"release": "10\.0\.17763"/));
});

test('two that come at once wait for each other and get names of their own', limit, async () => {
  const both = await Promise.all([node('add'), node('add')]);
  assert.deepEqual(both.sort(), ['linux-2', 'linux-3']);
  const all = await listed();
  assert.deepEqual(
    all.map((one) => [one.name, one.ready]),
    ['linux-1', 'windows-1', 'linux-2', 'linux-3'].map((one) => [one, true]),
  );
  assert.equal(new Set(all.map((one) => one.address)).size, 4);
});

test('one that is there is waited for; what can not be is refused with a sentence', limit, async () => {
  const pids = (): unknown => readClusterState(paths)!.processes;
  const before_ = pids();
  const again = await cluster.porthole(['node', 'add', 'linux-2', '--name', name]);
  assert.deepEqual([again.code, again.stdout.trim()], [0, 'linux-2'], again.stderr);
  assert.match(again.stderr, /node linux-2 is in cluster nodes already/);
  assert.deepEqual(pids(), before_, 'nothing was started again');
  const here = ['--name', name];
  await refused(
    ['add', 'linux-2', '--os', 'windows', ...here],
    /node linux-2 is there already, and is linux;/,
  );
  for (const bad of ['Linux', 'a.b', 'server', '-x-', 'a/../b'])
    await refused(['add', ...here, '--', bad], /^porthole: node name ".*": use at most 63/);
  await refused(['add', '--build', 'ltsc2019', ...here], /are for --os windows/);
  await refused(['add', '--os', 'windows', '--build', '7', ...here], /known are 17763 \(ltsc2019\)/);
  for (const command of [['add'], ['remove', 'x'], ['list']])
    await refused([...command, '--name', 'nope'], /there is no cluster "nope" in this home/);
  await refused(
    ['remove', 'x', ...here],
    /there is no node "x" in cluster "nodes"; it has linux-1, windows-1/,
  );
  assert.equal(existsSync(`${scratch.path}/locks/nope`), false);
});

test('up as it was first said leaves the nodes that came since', limit, async () => {
  const before_ = await addresses();
  await cluster.up();
  assert.deepEqual(await addresses(), before_);
  const other = await cluster.porthole([
    'up',
    '--name',
    name,
    '--linux',
    '2',
    '--windows',
    '0',
    '--no-merge',
  ]);
  assert.match(
    other.stderr,
    /is there already, with other nodes \(linux-1, linux-2, linux-3, windows-1 17763\)/,
  );
});

test('a node goes when its pods have gone, which a budget may hold up', limit, async () => {
  await cluster.kubectl.apply(
    listManifest(
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'held' },
        spec: {
          replicas: 1,
          selector: { matchLabels: { app: 'held' } },
          template: {
            metadata: { labels: { app: 'held' } },
            spec: podSpec(
              { command: serve('held') },
              { nodeSelector: { 'kubernetes.io/hostname': 'linux-2' } },
            ),
          },
        },
      },
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'held' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'held' } } },
      },
      {
        apiVersion: 'apps/v1',
        kind: 'DaemonSet',
        metadata: { name: 'everywhere' },
        spec: {
          selector: { matchLabels: { app: 'everywhere' } },
          template: {
            metadata: { labels: { app: 'everywhere' } },
            spec: podSpec({ command: untilTerm }, { nodeSelector: { 'kubernetes.io/os': 'linux' } }),
          },
        },
      },
    ),
  );
  // Their image was loaded before these nodes came: it came with them.
  await cluster.kubectl.ok(['rollout', 'status', 'deploy/held', '--timeout=50s']);
  await cluster.kubectl.ok(['rollout', 'status', 'ds/everywhere', '--timeout=50s']);
  const here = ['--name', name];
  await refused(
    ['remove', 'linux-2', '--timeout', '2s', ...here],
    /linux-2 still has pods after 2 s, and takes no new ones: default\/held-\S+ \(Cannot evict pod as it would violate the pod's disruption budget\.\)\n {2}next: the same with --force/,
  );
  assert.match(await cluster.kubectl.ok(['get', 'node', 'linux-2']), /Ready,SchedulingDisabled/);
  const shown = await node('list');
  assert.match(shown, /^linux-1 .*, Ready$/m);
  assert.match(shown, /^linux-2 .*, Ready, cordoned: kubectl uncordon linux-2 /m);
  await node('remove', 'linux-2', '--force');
  await refused(
    ['remove', 'linux-1', ...here],
    /cannot delete Pods that declare no controller \(use --force to override\): default\/client\n {2}next: kubectl delete them/,
  );
  await cluster.kubectl.ok(['delete', 'pod', 'client']);
  await node('remove', 'linux-1');
  assert.deepEqual(Object.keys(await addresses()), ['windows-1', 'linux-3']);
  const nodes = await cluster.kubectl.ok(['get', 'nodes', '-o', 'name']);
  assert.deepEqual(nodes.trim().split('\n').sort(), ['node/linux-3', 'node/windows-1']);
  await eventually(async () => {
    const pods = await cluster.kubectl.ok(['get', 'pods', '-o', 'jsonpath={.items[*].spec.nodeName}']);
    assert.doesNotMatch(pods, /linux-[12]/);
  });
  for (const gone of ['linux-1', 'linux-2']) {
    assert.equal(existsSync(paths.node(gone)), false);
    const left = await machineTraces([nodeLayout(paths.node(gone)).cgroupRoot]);
    assert.deepEqual(left['cgroups'], []);
    const named = [...left['namespaces']!, ...left['processes']!].filter((line) =>
      line.includes(`-${gone} `),
    );
    assert.deepEqual(named, []);
  }
  assert.equal((await cluster.porthole(['status', '--name', name])).code, 0);
});

test('what a removal that was killed has left of a node is removed by the same command', limit, async () => {
  const left = paths.node('linux-2');
  mkdirSync(left, { recursive: true });
  writeFileSync(join(left, 'agent.kubeconfig'), '');
  await node('remove', 'linux-2');
  assert.equal(existsSync(left), false);
  await refused(['remove', 'linux-2', '--name', name], /there is no node "linux-2" in cluster "nodes"/);
});

test('^C in node add and node remove says what is left and how to go on', limit, async () => {
  const interrupted = async (verb: string, isBegun: () => boolean): Promise<string> => {
    const env = { PORTHOLE_HOME: scratch.path, PORTHOLE_CACHE: portholeCache() };
    const args = [bundle, 'node', verb, 'cut', '--name', name];
    const child = linuxProcesses.spawn(process.execPath, args, { env });
    let said = '';
    child.stdout?.resume();
    child.stderr?.on('data', (data) => {
      said += String(data);
    });
    await eventually(() => assert.ok(isBegun()), { everyMs: 1, timeoutMs: 60_000 });
    process.kill(child.pid, 'SIGINT');
    assert.equal(await child.exited, 130, said);
    return said;
  };
  const isListed = (): boolean => readClusterState(paths)!.nodes.some((one) => one.name === 'cut');
  assert.match(
    await interrupted('add', isListed),
    /interrupted: node cut of cluster nodes is begun; .*porthole node remove cut --name nodes takes it out\n$/,
  );
  await node('add', 'cut');
  assert.match(
    await interrupted('remove', () => !existsSync(paths.node('cut'))),
    /interrupted: node cut of cluster nodes takes no new pods, .*the same command ends its removal/,
  );
  await node('remove', 'cut');
  assert.equal(isListed(), false);
});

test('nodes keep their addresses over down --keep, also beside one that is gone', limit, async () => {
  const before_ = await addresses();
  assert.equal((await cluster.porthole(['down', '--keep', '--name', name])).code, 0);
  await refused(['add', '--name', name], /cluster "nodes" is stopped; porthole up --name nodes/);
  await cluster.up();
  assert.deepEqual(await addresses(), before_);
  assert.equal(await node('add', 'extra'), 'extra');
});

test('the last node goes with its cluster only; down leaves nothing of any', limit, async () => {
  for (const one of ['windows-1', 'extra']) await node('remove', one, '--force');
  await refused(
    ['remove', 'linux-3', '--name', name],
    /linux-3 is the only node .*porthole down --name nodes/,
  );
  const down = await cluster.porthole(['down', '--name', name]);
  assert.equal(down.code, 0, down.stderr);
  assert.deepEqual(await traces(), found);
});
