// Somebody flushes the packet filter's rules, as a restart of nftables does, or the routes, or switches forwarding off: of a node,
// and of the machine. All come back as they were. So does a node whose containerd has lost its images, or all that it stored.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { type NodeLayout, nodeLayout } from '../../src/cmd/cluster/node-layout.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { runningPid } from '../../src/kubelet/containerd/containerd-process.ts';
import { sandboxesThere } from '../../src/kubelet/containerd/leftovers.ts';
import { createLinuxHost } from '../../src/os/linux/host-linux.ts';
import { processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { linuxPacketFilter } from '../../src/os/linux/nft-packet-filter.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type Processes, runOrThrow } from '../../src/os/processes.ts';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { listManifest, podSpec, serve, startLinuxCluster, untilTerm } from '../harness/linux-cluster.ts';

const long = { timeout: 240_000 };
/** Two looks at the machine's, on one that others load. */
const patience = { timeoutMs: 75_000, everyMs: 500 };
const tablesOfNode = [
  'arp porthole-pods',
  'inet porthole-flows',
  'inet porthole-pods',
  ...['dns', 'hostports', 'network', 'proxy'].map((part) => `ip porthole-${part}`),
];

let cluster: TestCluster;
let node: Processes;
let id: string;
let layout: NodeLayout;
const deps = { host: createLinuxHost(), clock: systemClock, log: silentLogger };

const pod = (name: string, container: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, labels: { app: name } },
  spec: podSpec(container),
});
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
};

before(async () => {
  // The default is as long as most of what is tried here.
  cluster = await startLinuxCluster(['--extra-config', 'kube-proxy.nftables-sync-period=2s']);
  const state = readClusterState(clusterPaths(cluster.home, cluster.name))!;
  id = state.id;
  layout = nodeLayout(clusterPaths(cluster.home, cluster.name).node('linux-1'));
  node = processesInNetns(linuxProcesses, state.nodes[0]!.netns!);
  const ports = [{ containerPort: 8080, hostPort: 8088 }];
  await cluster.kubectl.apply(
    listManifest(
      pod('web', { command: serve('from web'), ports }),
      pod('client', { command: untilTerm }),
      service,
    ),
  );
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod/web', 'pod/client', '--timeout=60s']);
  await answers();
}, long);
after(() => cluster?.down(), long);

/** By its name: DNS, the Service, and the way of pods. */
const answers = (): Promise<void> =>
  eventually(async () => {
    const wget = ['exec', 'client', '--', 'timeout', '5', 'wget', '-qO-', 'http://web/'];
    const { stdout, stderr } = await cluster.kubectl.run(wget);
    assert.equal(stdout, 'from web\n', stderr);
  }, patience);

/** All words of all tables, in an order of their own; who asked DNS of late, or has connections, is no rule. */
async function words(processes: Processes): Promise<Record<string, string[]>> {
  const packetFilter = linuxPacketFilter(processes);
  const tables = [...(await packetFilter.tables())].sort();
  const entries = tables.map(async (name): Promise<[string, string[]]> => {
    const terse = /-(dns|flows)$/.test(name) ? ['--terse'] : [];
    const text = await runOrThrow(processes, 'nft', [
      '--stateless',
      ...terse,
      'list',
      'table',
      ...name.split(' '),
    ]);
    return [
      name,
      text
        .toString()
        .split(/[\s,]+/)
        .sort(),
    ];
  });
  return Object.fromEntries(await Promise.all(entries));
}
const nft = (processes: Processes, ...command: string[]): Promise<unknown> =>
  runOrThrow(processes, 'nft', command);
const backTo = (processes: Processes, whole: Record<string, string[]>): Promise<void> =>
  eventually(async () => assert.deepEqual(await words(processes), whole), patience);

const agentLog = async (): Promise<string> =>
  (await cluster.porthole(['logs', 'linux-1', '--name', cluster.name])).stdout;
/** What was done is told a moment after it. */
const told = (check: (log: string) => void): Promise<void> =>
  eventually(async () => check(await agentLog()), patience);

test('the rules of a node, flushed, are there again, and a Service answers', long, async () => {
  const whole = await words(node);
  const names = Object.keys(whole);
  assert.deepEqual(names, tablesOfNode);
  await nft(node, 'flush', 'ruleset');
  await backTo(node, whole);
  await answers();
  await told((log) => {
    for (const name of names)
      assert.equal(log.split(`the table ${name} was gone; written anew`).length, 2, `${name}: ${log}`);
  });
});

test('so are those of a table or a chain that was emptied, and of the machine', long, async () => {
  const [ofNode, ofMachine] = [await words(node), await words(linuxProcesses)];
  assert.deepEqual(Object.keys(ofMachine), [`ip porthole-${id}`, `netdev porthole-${id}`]);
  await nft(node, 'flush', 'table', 'ip', 'porthole-proxy');
  await nft(node, 'flush', 'chain', 'ip', 'porthole-network', 'postrouting');
  await nft(linuxProcesses, 'flush', 'chain', 'ip', `porthole-${id}`, 'fromnodes');
  await backTo(linuxProcesses, ofMachine);
  await nft(linuxProcesses, 'flush', 'ruleset');
  await backTo(node, ofNode);
  await backTo(linuxProcesses, ofMachine);
  await answers();
});

test('so are a single rule of the Services, and what a map of them held', long, async () => {
  const whole = await words(node);
  const proxy = ['ip', 'porthole-proxy'];
  const chain = await runOrThrow(node, 'nft', ['-a', 'list', 'chain', ...proxy, 'check-endpoints']);
  const [, handle] = /vmap @no-endpoints # handle (\d+)/.exec(chain.toString())!;
  await nft(node, 'delete', 'rule', ...proxy, 'check-endpoints', 'handle', handle!);
  await backTo(node, whole);
  await nft(node, 'flush', 'map', ...proxy, 'services');
  await backTo(node, whole);
  await answers();
  await told((log) => {
    for (const lost of ['1 of 2 rules of check-endpoints', '\\d+ of \\d+ elements of services'])
      assert.match(log, new RegExp(`the table ip porthole-proxy lost ${lost}; written anew`));
  });
});

const routes = async (processes: Processes): Promise<string[]> =>
  (await runOrThrow(processes, 'ip', ['-4', 'route', 'show'])).toString().trim().split('\n').sort();

test("so are the routes of a node, its pods' and its way out among them, and forwarding", long, async () => {
  const whole = await routes(node);
  assert.ok(
    whole.some((route) => / dev ph[\da-f]{8} /.test(route)),
    whole.join('\n'),
  );
  await runOrThrow(node, 'sysctl', ['-q', '-w', 'net.ipv4.ip_forward=0']);
  await runOrThrow(node, 'ip', ['route', 'flush', 'table', 'main']);
  await eventually(async () => assert.deepEqual(await routes(node), whole), patience);
  await answers();
  await told((log) => {
    for (const said of [
      'a setting of the network was changed; set again',
      'routes of this machine to its cluster were gone; made anew',
      'routes to pods of this node were gone; made anew',
    ])
      assert.ok(log.includes(said), said);
  });
});

test("so are its pods' cables, with the pods left running", long, async () => {
  const cables = async (): Promise<string[]> =>
    [...(await runOrThrow(node, 'ip', ['-o', 'link'])).toString().matchAll(/ (ph[\da-f]{8})@/g)]
      .map(([, name]) => name!)
      .sort();
  const [whole, before] = [await cables(), await routes(node)];
  assert.ok(whole.length >= 2, whole.join());
  for (const name of whole) await runOrThrow(node, 'ip', ['link', 'del', name]);
  await eventually(async () => assert.deepEqual(await cables(), whole), patience);
  await eventually(async () => assert.deepEqual(await routes(node), before), patience);
  await answers();
  await told((log) => assert.ok(log.includes('the cable of a pod was gone; made anew'), log));
  const restarts = '{.items[*].status.containerStatuses[0].restartCount}';
  const { stdout: counts } = await cluster.kubectl.run(['get', 'pods', '-o', `jsonpath=${restarts}`]);
  assert.equal(counts, '0 0');
});

const images = async (): Promise<string[]> =>
  (await runOrThrow(linuxProcesses, 'ctr', [...ctr(), 'images', 'ls', '-q'])).toString().trim().split('\n');
const ctr = (): string[] => ['--address', layout.containerdSocket, '--namespace', 'k8s.io'];

test("a node's sandbox image, removed, is there again before a pod needs it", long, async () => {
  const pause = 'porthole.local/pause:1';
  await runOrThrow(linuxProcesses, 'ctr', [...ctr(), 'images', 'rm', '--sync', pause]);
  await eventually(async () => assert.ok((await images()).includes(pause)), patience);
  await told((log) => assert.ok(log.includes('the sandbox image was gone; loaded again'), log));
});

/** What runs, by the ids of sandboxes. */
const sandboxes = async (): Promise<string[]> =>
  [
    ...(
      await sandboxesThere(deps, { state: layout.containerdState, address: layout.containerdSocket })
    ).keys(),
  ].sort();
const attached = (): string[] =>
  readdirSync(join(layout.cniDir, 'attachments'))
    .map((name) => name.replace(/@.*/, ''))
    .sort();
const namespaces = (): string[] => {
  const folder = join(layout.containerdState, 'io.containerd.grpc.v1.cri/netns');
  return readdirSync(folder).map((name) => join(folder, name));
};

test(
  'pods of a containerd that has lost all it stored run once, and have one address each',
  long,
  async () => {
    const before = { sandboxes: await sandboxes(), namespaces: namespaces() };
    assert.equal(before.sandboxes.length, 2);
    assert.equal(before.namespaces.length, 2);
    assert.deepEqual(attached(), before.sandboxes);
    const pid = await runningPid(deps, { dir: layout.containerdDir });
    renameSync(layout.containerdRoot, `${layout.containerdRoot}.away`);
    process.kill(pid!, 'SIGKILL');
    await eventually(async () => {
      const now = await sandboxes();
      assert.equal(now.length, 2, now.join());
      assert.deepEqual(attached(), now);
      for (const one of before.sandboxes) assert.ok(!now.includes(one), 'it lives on beside its successor');
    }, patience);
    for (const one of before.namespaces)
      assert.ok(
        !existsSync(join(layout.containerdState, 'netns', one)),
        'its network namespace is still there',
      );
    const log = await agentLog();
    assert.ok(log.includes('containerd does not know what it ran before'), log);
    assert.ok(!log.includes('the runtime could not delete'), log);
    const kept = readdirSync(join(layout.containerdState, 'runc/k8s.io'));
    for (const one of before.sandboxes) assert.ok(!kept.includes(one), 'the runtime has it still');
    const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
    assert.equal(loaded.code, 0, loaded.stderr);
    await answers();
  },
);
