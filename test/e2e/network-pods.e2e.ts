// Pods on real namespaces: the compiled CNI client, the daemon, routes between nodes, and what is left afterwards.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import {
  type NetworkCluster,
  pings,
  startNetworkCluster,
  type TestPod,
  textOf,
} from '../harness/network-cluster.ts';

let cluster: NetworkCluster;
let pods: TestPod[];

before(async () => {
  cluster = await startNetworkCluster([
    { name: 'linux-1', os: 'linux' },
    { name: 'windows-1', os: 'windows' },
  ]);
  const [linux, windows] = cluster.nodes;
  pods = await Promise.all([
    cluster.addPod('l1', linux!),
    cluster.addPod('l2', linux!),
    cluster.addPod('w1', windows!),
    cluster.addPod('w2', windows!),
  ]);
});
after(() => cluster.close());

test('every pod reaches every other, its node, the other node and the gateway, with its own address', async () => {
  for (const from of pods) {
    const targets = [...pods.map((pod) => pod.ip), ...cluster.fabric.nodes.map((node) => node.address)];
    for (const to of [...targets, cluster.fabric.gateway])
      assert.ok(await pings(from.processes, to), `${from.name} (${from.ip}) to ${to}`);
  }
  for (const node of cluster.nodes)
    for (const pod of pods) assert.ok(await pings(node.processes, pod.ip), `${node.name} to ${pod.name}`);
  assert.ok(await pings(linuxProcesses, pods[0]!.ip), 'the machine reaches a pod');
});

test('a Windows node shows its pods the subnet and gateway that HNS would', async () => {
  const pod = pods.find((one) => one.name === 'w1')!;
  assert.match(pod.result.ips[0]!.address, /^10\.244\.2\.\d+\/24$/);
  assert.equal(pod.result.ips[0]!.gateway, '10.244.2.2');
  assert.match(await textOf(pod.processes, 'ip', 'route'), /^default via 10\.244\.2\.2 dev eth0/);
  assert.match(await textOf(pod.processes, 'ip', 'link', 'show', 'eth0'), /00:15:5d:/);
  assert.ok(await pings(pod.processes, '10.244.2.2'));
});

test('CHECK passes for a whole pod, fails for a broken one, and DEL takes all of it away', async () => {
  const node = cluster.nodes[0]!;
  const pod = await cluster.addPod('gone', node);
  const configuration = { cniVersion: '1.0.0', name: 'porthole', type: 'porthole' };
  const env = { CNI_CONTAINERID: 'id-gone', CNI_NETNS: pod.netnsPath, CNI_IFNAME: 'eth0' };
  const check = () => cluster.cni(node, { ...env, CNI_COMMAND: 'CHECK' }, configuration);
  assert.deepEqual(await check(), { code: 0, stdout: '' });
  await textOf(node.processes, 'ip', 'route', 'delete', pod.ip);
  assert.equal(JSON.parse((await check()).stdout).code, 5);
  await cluster.deletePod(pod);
  assert.doesNotMatch(await textOf(node.processes, 'ip', 'address'), new RegExp(`${pod.ip}|ph0af4${'01'}63`));
  assert.deepEqual(await cluster.cni(node, { ...env, CNI_COMMAND: 'DEL' }, configuration), {
    code: 0,
    stdout: '',
  });
});

test('the runtime hears CNI errors as JSON: bad input, unknown version, no namespace, no agent', async () => {
  const node = cluster.nodes[0]!;
  const configuration = { cniVersion: '1.0.0', name: 'porthole', type: 'porthole' };
  const env = { CNI_COMMAND: 'ADD', CNI_CONTAINERID: 'x', CNI_NETNS: '/run/netns/none', CNI_IFNAME: 'eth0' };
  const code = async (e: Record<string, string>, c: unknown): Promise<[number, number]> => {
    const { code: exit, stdout } = await cluster.cni(node, e, c);
    return [exit, JSON.parse(stdout).code];
  };
  assert.deepEqual(await code(env, configuration), [1, 3]);
  assert.deepEqual(await code(env, '{"cniVersion":'), [1, 6]);
  assert.deepEqual(await code(env, { ...configuration, cniVersion: '9.0.0' }), [1, 1]);
  assert.deepEqual(await code({ ...env, CNI_CONTAINERID: '../../x' }, configuration), [1, 4]);
  assert.deepEqual(await code({ ...env, CNI_NETNS: '/run/../etc' }, configuration), [1, 4]);
  assert.deepEqual(await code({ ...env, CNI_IFNAME: 'a b' }, configuration), [1, 4]);
  assert.deepEqual(await code({ ...env, CNI_COMMAND: 'EXPLODE' }, configuration), [1, 4]);
  const version = await cluster.cni(node, { CNI_COMMAND: 'VERSION' }, { cniVersion: '1.0.0' });
  assert.ok(JSON.parse(version.stdout).supportedVersions.includes('0.4.0'));
  assert.deepEqual(
    await cluster.cni(node, { CNI_COMMAND: 'STATUS' }, { ...configuration, cniVersion: '1.1.0' }),
    {
      code: 0,
      stdout: '',
    },
  );
  await node.cni.close();
  assert.deepEqual(await code(env, configuration), [1, 11]);
});
