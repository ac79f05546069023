// Root on a node, or a hostNetwork pod with NET_RAW there, is heard on the cluster's network as that node and its pods only.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { clusterPaths, readClusterState } from '../../src/cmd/cluster/cluster-state.ts';
import { hardwareAddressOf } from '../../src/network/hardware-address.ts';
import { processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { type Child, type Processes, runOrThrow } from '../../src/os/processes.ts';
import { startTestCluster, type TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { podManifest, serve, untilTerm } from '../harness/linux-cluster.ts';
import { buildSpoof, startSink } from '../harness/spoof.ts';

const limit = { timeout: 300_000 };
const sinkPort = 9000;
/** Reserved for a bridge's neighbours: a bridge takes it off the wire before its own rules see it. */
const bridgeGroup = '01:80:c2:00:00:0e';

let cluster: TestCluster;
let folder: string;
let spoof: string;
let isDown = false;
const children: Child[] = [];

const state = () => readClusterState(clusterPaths(cluster.home, cluster.name))!;
const node = (name: string) => state().nodes.find((one) => one.name === name)!;
const inNode = (name: string): Processes => processesInNetns(linuxProcesses, node(name).netns!);
const gateway = (): string => node('linux-1').ip.replace(/\d+$/, '1');
const text = async (from: Processes, program: string, ...args: string[]): Promise<string> =>
  (await runOrThrow(from, program, args)).trim();
const podIP = (name: string): Promise<string> =>
  cluster.kubectl.ok(['get', 'pod', name, '-o', 'jsonpath={.status.podIP}']);

async function asRootOnTheNode(...row: string[]): Promise<void> {
  assert.equal(await text(inNode('linux-1'), spoof, ...row), 'sent', row.join(' '));
}

async function sink(from: Processes): Promise<string[]> {
  const { got, child } = startSink(from, sinkPort);
  children.push(child);
  await eventually(() => assert.deepEqual(got, ['ready']));
  return got;
}

/** As the receiver knows it. */
const neighbour = async (of: Processes, address: string): Promise<string | undefined> =>
  /lladdr (\S+)/.exec(await text(of, 'ip', 'neighbour', 'show', address))?.[1];

async function fetches(from: string, url: string): Promise<string> {
  return (await cluster.kubectl.ok(['exec', from, '--', 'timeout', '10', 'wget', '-qO-', url])).trim();
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'cables-'));
  spoof = await buildSpoof(folder);
  cluster = await startTestCluster({ linux: 3 });
  const loaded = await cluster.porthole(['image', 'build-samples', '--name', cluster.name]);
  assert.equal(loaded.code, 0, loaded.stderr);
  const on = (nodeName: string, more: object = {}) => ({ nodeName, ...more });
  await cluster.kubectl.apply(podManifest('near', { command: serve('near') }, on('linux-1')));
  await cluster.kubectl.apply(podManifest('victim', { command: serve('victim') }, on('linux-2')));
  await cluster.kubectl.apply(
    podManifest('host', { command: untilTerm }, on('linux-3', { hostNetwork: true })),
  );
  await cluster.kubectl.ok(['expose', 'pod', 'victim', '--port', '80', '--target-port', '8080']);
  await cluster.kubectl.ok(['wait', '--for=condition=Ready', 'pod', '--all', '--timeout=60s']);
}, limit);
after(async () => {
  if (!isDown) await cluster?.down();
  rmSync(folder, { recursive: true, force: true });
}, limit);
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all(children.splice(0).map((child) => child.exited));
});

/** What must work whatever is guarded: across nodes, by Service and name, from a node's own network, and kubectl's streams. */
async function clusterWorks(): Promise<void> {
  const victim = await podIP('victim');
  assert.equal(await fetches('near', `http://${victim}:8080/`), 'victim');
  assert.equal(await fetches('near', 'http://victim.default.svc.cluster.local/'), 'victim');
  assert.equal(await fetches('host', `http://${victim}:8080/`), 'victim');
  assert.equal(await fetches('victim', `http://${await podIP('near')}:8080/`), 'near');
}

describe('root on a node', limit, () => {
  test('is heard as its node and its pods, whatever it writes into its packets', async () => {
    await clusterWorks();
    const far = await sink(inNode('linux-3'));
    const machine = await sink(linuxProcesses);
    const [own, other, to] = [node('linux-1').ip, node('linux-2').ip, node('linux-3').ip];
    const [victim, near] = [await podIP('victim'), await podIP('near')];
    const port = String(sinkPort);
    const spare = near.replace(/\d+$/, '200');
    for (const target of [to, gateway()]) {
      const mac = hardwareAddressOf(target);
      for (const [source, what] of [
        [other, 'as-another-node'],
        [victim, "as-another-node's-pod"],
        [target === to ? gateway() : to, 'as-a-third'],
        ['198.51.100.7', 'as-the-world'],
        ['10.96.0.10', 'as-the-DNS'],
      ] as const) {
        await asRootOnTheNode('ip', source, target, port, what);
        await asRootOnTheNode('frame', mac, hardwareAddressOf(own), source, target, port, what);
        await asRootOnTheNode('frame', mac, hardwareAddressOf(other), source, target, port, what);
      }
      await asRootOnTheNode('frame', mac, hardwareAddressOf(other), own, target, port, 'other-hardware');
      // what is true comes last: when it is there, all before it had its chance
      await asRootOnTheNode('ip', spare, target, port, 'as-a-pod-of-its-own');
      await asRootOnTheNode('ip', own, target, port, 'honest');
    }
    const honest = [`as-a-pod-of-its-own from ${spare}`, `honest from ${own}`];
    await eventually(() => assert.deepEqual(far, ['ready', ...honest]));
    // the machine answers nodes on the ports that are meant for them only; none of it came that far either
    assert.deepEqual(machine, ['ready']);
  });

  test("neither ARP nor IPv6 gives it another's place, on other nodes and on the machine", async () => {
    const [own, other, third] = [node('linux-1').ip, node('linux-2').ip, node('linux-3').ip];
    const mine = hardwareAddressOf(own);
    const knownBy = [inNode('linux-2'), inNode('linux-3'), linuxProcesses] as const;
    for (const claimed of [other, third, gateway()])
      for (const mac of [mine, hardwareAddressOf(claimed)]) await asRootOnTheNode('arp', mac, claimed);
    const far = await sink(inNode('linux-3'));
    await asRootOnTheNode('ip', own, third, String(sinkPort), 'honest');
    await eventually(() => assert.deepEqual(far, ['ready', `honest from ${own}`]));
    await clusterWorks();
    for (const from of knownBy)
      for (const address of [other, third, gateway()])
        assert.ok([undefined, hardwareAddressOf(address)].includes(await neighbour(from, address)), address);
    for (const from of knownBy) assert.equal(await text(from, 'ip', '-6', 'neighbour'), '');
    const ports = await text(linuxProcesses, 'ip', '-6', '-br', 'address');
    assert.doesNotMatch(ports, /^phn-/m, "the machine has no address on a node's cable");
  });

  test('frames to the group of bridges neither move another node in the bridge nor pass by the rules of the machine', async () => {
    const [own, other] = [node('linux-1').ip, node('linux-2').ip];
    await clusterWorks();
    const placeOf = async (): Promise<string[]> =>
      (await text(linuxProcesses, 'bridge', 'fdb', 'show'))
        .split('\n')
        .filter((line) => line.startsWith(hardwareAddressOf(other)) && line.includes('master'));
    const before = await placeOf();
    assert.equal(before.length, 1);
    const machine = await sink(linuxProcesses);
    const far = await sink(inNode('linux-3'));
    for (const from of [own, other])
      await asRootOnTheNode(
        ...[
          'frame',
          bridgeGroup,
          hardwareAddressOf(from),
          own,
          gateway(),
          String(sinkPort),
          'past-the-rules',
        ],
      );
    assert.deepEqual(await placeOf(), before);
    await asRootOnTheNode('ip', own, node('linux-3').ip, String(sinkPort), 'honest');
    await eventually(() => assert.deepEqual(far, ['ready', `honest from ${own}`]));
    assert.deepEqual(machine, ['ready']);
  });

  test('a load balancer on a node may speak as the address that its Service has, but as no node and not as the world', async () => {
    const [own, other, to] = [node('linux-1').ip, node('linux-2').ip, node('linux-3').ip];
    const announced = own.replace(/\d+$/, '200');
    const world = '198.51.100.9';
    const patch = JSON.stringify({ spec: { externalIPs: [announced, other, world] } });
    const far = await sink(inNode('linux-3'));
    await asRootOnTheNode('ip', announced, to, String(sinkPort), 'too-early');
    await cluster.kubectl.ok(['patch', 'service', 'victim', '-p', patch]);
    await eventually(async () => {
      await asRootOnTheNode('ip', other, to, String(sinkPort), 'as-another-node');
      await asRootOnTheNode('ip', world, to, String(sinkPort), 'as-the-world');
      await asRootOnTheNode('ip', announced, to, String(sinkPort), 'announced');
      assert.ok(far.length > 1);
    });
    assert.deepEqual(new Set(far), new Set(['ready', `announced from ${announced}`]));
  });

  test('up again, a killed server and a killed agent change nothing; down leaves no table', async () => {
    await cluster.up();
    await clusterWorks();
    await cluster.crashAndRepair('server');
    await cluster.crashAndRepair('agent linux-2');
    await clusterWorks();
    const far = await sink(inNode('linux-3'));
    const [own, other, to] = [node('linux-1').ip, node('linux-2').ip, node('linux-3').ip];
    await asRootOnTheNode('ip', other, to, String(sinkPort), 'as-another-node');
    await asRootOnTheNode('ip', own, to, String(sinkPort), 'honest');
    await eventually(() => assert.deepEqual(far, ['ready', `honest from ${own}`]));
    await cluster.down();
    isDown = true;
    assert.doesNotMatch(await text(linuxProcesses, 'nft', 'list', 'tables'), /porthole/);
  });
});
