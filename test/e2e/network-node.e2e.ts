// A node's own network: outbound NAT with exceptions, host ports, restart of the agent, loss of links, node changes.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { silentLogger } from '../../src/component-base/logger.ts';
import { startCniDaemon } from '../../src/network/cni/cni-daemon.ts';
import { linuxFiles } from '../../src/os/linux/files-linux.ts';
import { linuxLinks } from '../../src/os/linux/ip-links.ts';
import { processesInNetns } from '../../src/os/linux/netns-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import type { Processes } from '../../src/os/processes.ts';
import { eventually } from '../harness/eventually.ts';
import {
  ask,
  type NetworkCluster,
  nodeObject,
  pings,
  serveProbe,
  startNetworkCluster,
  type TestPod,
  textOf,
} from '../harness/network-cluster.ts';

let cluster: NetworkCluster;
let l1: TestPod;
let w1: TestPod;
const stops: (() => void)[] = [];
const outside = processesInNetns(linuxProcesses, '/run/netns/outside');

before(async () => {
  cluster = await startNetworkCluster([
    { name: 'linux-1', os: 'linux' },
    { name: 'windows-1', os: 'windows' },
  ]);
  const [linux, windows] = cluster.nodes;
  const mapped = { portMappings: [{ hostPort: 8081, containerPort: 8080, protocol: 'tcp' }] };
  l1 = await cluster.addPod('l1', linux!, mapped);
  w1 = await cluster.addPod('w1', windows!);
  await cluster.ports.namespaces.create(['outside']);
  await cluster.ports.links.apply([
    { do: 'addVeth', name: 'out0', peer: { name: 'eth0', netns: 'outside' } },
    { do: 'replaceAddress', name: 'out0', address: '198.51.100.254/24' },
    { do: 'setLink', name: 'out0', up: true },
  ]);
  await linuxLinks(outside).apply([
    { do: 'replaceAddress', name: 'eth0', address: '198.51.100.2/24' },
    { do: 'setLink', name: 'eth0', up: true },
  ]);
  stops.push(await serveProbe(outside, 'outside', 8080));
  stops.push(await serveProbe(linuxProcesses, 'machine', 8080));
  stops.push(await serveProbe(l1.processes, 'l1', 8080));
});
after(async () => {
  for (const stop of stops) stop();
  await cluster?.ports.namespaces.delete(['outside']);
  await cluster?.close();
});

/** What is looked at may be in this process: between two looks others have their turn. */
const until = (what: string, good: () => Promise<boolean>): Promise<void> =>
  eventually(async () => assert.ok(await good(), what), { timeoutMs: 30_000, everyMs: 20 });

test('pods reach the outside with the address of the machine, and the exceptions with their own', async () => {
  for (const pod of [l1, w1]) {
    assert.deepEqual(await ask(pod.processes, 'tcp', '198.51.100.2', 8080), ['outside 198.51.100.254']);
    assert.deepEqual(await ask(pod.processes, 'udp', '198.51.100.2', 8080), ['outside 198.51.100.254']);
    assert.deepEqual(await ask(pod.processes, 'tcp', cluster.fabric.gateway, 8080), [`machine ${pod.ip}`]);
    assert.deepEqual(await ask(pod.processes, 'tcp', l1.ip, 8080), [
      `l1 ${pod.ip === l1.ip ? l1.ip : pod.ip}`,
    ]);
  }
});

test('an address that no pod has is refused at once instead of going in a circle', async () => {
  assert.deepEqual(await ask(w1.processes, 'tcp', '10.244.1.200', 80), ['EHOSTUNREACH']);
});

test('a host port leads to its pod from outside, from other pods, from the node and from the pod itself', async () => {
  const { address } = cluster.nodes[0]!;
  for (const from of [linuxProcesses, w1.processes, l1.processes, cluster.nodes[0]!.processes])
    assert.match((await ask(from, 'tcp', address, 8081))[0]!, /^l1 /);
});

test('after a restart the agent knows its pods: no address is given twice, rules and DEL work, debris is gone', async () => {
  const node = cluster.nodes[0]!;
  await node.cni.close();
  await node.processes.run('nft', ['delete', 'table', 'ip', 'porthole-hostports']);
  await writeFile(join(node.dataDir, 'attachments', 'half@eth0.json'), '{"containerID":"ha');
  await linuxLinks(node.processes).apply([{ do: 'addVeth', name: 'ph0af401fe', peer: { name: 'orphan' } }]);
  node.cni = await startCniDaemon({
    host: node.host,
    files: linuxFiles,
    log: silentLogger,
    dataDir: node.dataDir,
    os: node.os,
  });
  node.cni.plugin.setPodCIDR(node.podCIDR);
  const links = (await linuxLinks(node.processes).links()).map((link) => link.name);
  assert.ok(!links.includes('ph0af401fe') && links.includes('ph0af40102'), links.join());
  assert.match((await ask(linuxProcesses, 'tcp', node.address, 8081))[0]!, /^l1 /);
  const more = await Promise.all(['m1', 'm2', 'm3', 'm4'].map((name) => cluster.addPod(name, node)));
  const all = [l1, ...more].map((pod) => pod.ip);
  assert.equal(new Set(all).size, all.length, all.join());
  assert.ok(await pings(more[3]!.processes, w1.ip));
  const again = await cluster.addPod('m1', node);
  assert.ok(await pings(again.processes, w1.ip), 'an ADD that is repeated starts from nothing');
  for (const pod of [again, ...more.slice(1)]) await cluster.deletePod(pod);
});

test('a link that somebody set down, or took the address from, is up again with all routes: of a node, and of the machine', async () => {
  const node = cluster.nodes[0]!;
  const state = async (processes: Processes): Promise<string> =>
    (await textOf(processes, 'ip', '-4', '-o', '-br', 'address')) +
    (await textOf(processes, 'ip', '-4', 'route'));
  const [ofNode, ofMachine] = [await state(node.processes), await state(linuxProcesses)];
  const own = `${node.address}/24`;
  for (const [processes, ...harm] of [
    [node.processes, 'link', 'set', 'eth0', 'down'],
    [node.processes, 'link', 'set', 'lo', 'down'],
    [node.processes, 'address', 'delete', own, 'dev', 'eth0'],
    [linuxProcesses, 'link', 'set', cluster.fabric.bridge, 'down'],
  ] as const) {
    // That it succeeds says that it was done: it may be repaired before anybody can look.
    await textOf(processes, 'ip', ...harm);
    await until(`after ip ${harm.join(' ')} all is as it was`, async () => {
      const now = [await state(node.processes), await state(linuxProcesses)];
      return now[0] === ofNode && now[1] === ofMachine;
    });
    assert.ok(await pings(l1.processes, w1.ip));
    assert.ok(await pings(linuxProcesses, l1.ip));
  }
});

test('routes come back after the link was down, and follow nodes that move and go', async () => {
  const node = cluster.nodes[0]!;
  const routes = (): Promise<string> => textOf(node.processes, 'ip', 'route');
  await textOf(node.processes, 'ip', 'link', 'set', 'eth0', 'down');
  await textOf(node.processes, 'ip', 'link', 'set', 'eth0', 'up');
  await until('the route is back', async () => (await routes()).includes('10.244.2.0/24 via'));
  assert.ok(await pings(l1.processes, w1.ip));
  cluster.nodeInformer.put(nodeObject('third', 'linux', '172.30.0.250', '10.244.9.0/24'));
  await until('a new node', async () => (await routes()).includes('10.244.9.0/24 via 172.30.0.250'));
  cluster.nodeInformer.put(nodeObject('third', 'linux', '172.30.0.251', '10.244.9.0/24'));
  await until('a moved node', async () => (await routes()).includes('10.244.9.0/24 via 172.30.0.251'));
  cluster.nodeInformer.put(nodeObject('third', 'linux', '192.0.2.1', '10.244.9.0/24'));
  await until('an unreachable node', async () => !(await routes()).includes('10.244.9.0/24'));
  // Its routes are set before it says what it could not.
  await until('an unreachable node is told', async () =>
    /third at 192\.0\.2\.1 is not in a subnet of this machine/.test(node.agent.problems().join()),
  );
  cluster.nodeInformer.remove('third');
  await until(
    'no problem is left',
    async () => (await routes()) !== '' && node.agent.problems().length === 0,
  );
});
