// Services on real nftables: every kind of address and policy, seen with real packets from pods, nodes and outside.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { endpointslices } from '../../src/api/generated/resources.ts';
import type { ServiceSpec } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { proxyBackends } from '../../src/proxy/backends/registry.ts';
import { type Proxy as ServiceProxy, startProxy } from '../../src/proxy/proxier.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';
import {
  ask,
  clusterCIDR,
  type NetworkCluster,
  serveProbe,
  startNetworkCluster,
  type TestPod,
} from '../harness/network-cluster.ts';

let cluster: NetworkCluster;
let proxies: ServiceProxy[];
let l1: TestPod;
let l2: TestPod;
let w1: TestPod;
let w2: TestPod;
const sliceInformer = createMemoryInformer<EndpointSlice>(endpointslices);
const stops: (() => void)[] = [];

function put(name: string, spec: ServiceSpec, pods: readonly TestPod[], port = 8080): void {
  const ports = spec.ports!.map((p) => ({ name: p.name ?? '', port, protocol: p.protocol ?? 'TCP' }));
  sliceInformer.put({
    metadata: { name: `${name}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: pods.map((pod) => ({
      addresses: [pod.ip],
      nodeName: pod.node.name,
      conditions: { ready: true, serving: true, terminating: false },
    })),
    ports,
  });
  cluster.serviceInformer.put({ metadata: { name, namespace: 'default' }, spec });
}

/** Rules are written in the background: wait for the one that shows them. */
async function eventually<T>(read: () => Promise<T>, good: (value: T) => boolean): Promise<T> {
  for (let i = 0; ; i++) {
    const value = await read();
    if (good(value) || i === 20) return value;
  }
}
const names = (answers: readonly string[]): string[] =>
  [...new Set(answers.map((answer) => answer.split(' ')[0]!))].sort();

before(async () => {
  cluster = await startNetworkCluster([
    { name: 'linux-1', os: 'linux' },
    { name: 'windows-1', os: 'windows' },
  ]);
  const [linux, windows] = cluster.nodes;
  l1 = await cluster.addPod('l1', linux!);
  l2 = await cluster.addPod('l2', linux!);
  w1 = await cluster.addPod('w1', windows!);
  w2 = await cluster.addPod('w2', windows!);
  for (const pod of [l1, l2, w1]) stops.push(await serveProbe(pod.processes, pod.name, 8080));
  const informers = {
    informer: <T>({ resource }: ResourceRef<T>): Informer<T> =>
      (({ nodes: cluster.nodeInformer, services: cluster.serviceInformer })[resource] ??
        sliceInformer) as unknown as Informer<T>,
  };
  put('web', { type: 'NodePort', clusterIP: '10.96.0.100', ports: [{ port: 80, nodePort: 30080 }] }, [
    l1,
    w1,
  ]);
  put(
    'local',
    {
      type: 'NodePort',
      clusterIP: '10.96.0.101',
      externalTrafficPolicy: 'Local',
      internalTrafficPolicy: 'Local',
      ports: [{ port: 80, nodePort: 30081 }],
    },
    [w1],
  );
  put('empty', { type: 'NodePort', clusterIP: '10.96.0.102', ports: [{ port: 80, nodePort: 30082 }] }, []);
  put('own', { clusterIP: '10.96.0.103', ports: [{ port: 80 }] }, [l1]);
  put('sticky', { clusterIP: '10.96.0.104', sessionAffinity: 'ClientIP', ports: [{ port: 80 }] }, [
    l1,
    l2,
    w1,
  ]);
  put('dns', { clusterIP: '10.96.0.105', ports: [{ port: 53, protocol: 'UDP' }] }, [l1]);
  put('outside', { clusterIP: '10.96.0.106', externalIPs: ['203.0.113.7'], ports: [{ port: 80 }] }, [l2]);
  proxies = cluster.nodes.map((node) =>
    startProxy({
      informers,
      nodeName: node.name,
      clusterCIDR,
      reservedCIDRs: [],
      backend: proxyBackends.nftables({ ...node, clusterCIDR, clock: systemClock, log: silentLogger }),
      clock: systemClock,
      log: silentLogger,
    }),
  );
  await Promise.all(proxies.map((proxy) => proxy.ready()));
});
after(async () => {
  for (const proxy of proxies ?? []) await proxy.stop();
  for (const stop of stops) stop();
  await cluster?.close();
});

test('a ClusterIP spreads connections over pods of both nodes, from pods and from nodes; pods keep their address', async () => {
  for (const from of [l2, w2]) {
    const answers = await ask(from.processes, 'tcp', '10.96.0.100', 80, { count: 16 });
    assert.deepEqual(names(answers), ['l1', 'w1']);
    assert.ok(
      answers.every((answer) => answer.endsWith(` ${from.ip}`)),
      answers.join(),
    );
  }
  const fromNode = await ask(cluster.nodes[0]!.processes, 'tcp', '10.96.0.100', 80, { count: 16 });
  assert.deepEqual(names(fromNode), ['l1', 'w1']);
});

test('a NodePort answers on every node, from outside, from pods and from the node itself', async () => {
  for (const node of cluster.nodes)
    for (const from of [linuxProcesses, l2.processes, w2.processes, node.processes])
      assert.deepEqual(
        names(await ask(from, 'tcp', node.address, 30080, { count: 16 })),
        ['l1', 'w1'],
        `to ${node.name}`,
      );
});

test('externalTrafficPolicy Local keeps the address of the client and drops where no pod is', async () => {
  const [linux, windows] = cluster.nodes;
  assert.deepEqual(await ask(linuxProcesses, 'tcp', windows!.address, 30081), [
    `w1 ${cluster.fabric.gateway}`,
  ]);
  assert.deepEqual(await ask(linuxProcesses, 'tcp', linux!.address, 30081), ['TIMEOUT']);
  assert.deepEqual(names(await ask(l2.processes, 'tcp', linux!.address, 30081)), ['w1']);
  assert.deepEqual(await ask(w2.processes, 'tcp', '10.96.0.101', 80), [`w1 ${w2.ip}`]);
  assert.deepEqual(await ask(l2.processes, 'tcp', '10.96.0.101', 80), ['TIMEOUT']);
});

test('without endpoints, and on ports a ClusterIP does not have, connections are refused at once', async () => {
  for (const from of [l1.processes, w1.processes, cluster.nodes[0]!.processes]) {
    assert.deepEqual(await ask(from, 'tcp', '10.96.0.102', 80), ['ECONNREFUSED']);
    assert.deepEqual(await ask(from, 'tcp', '10.96.0.100', 81), ['ECONNREFUSED']);
  }
  assert.deepEqual(await ask(linuxProcesses, 'tcp', cluster.nodes[1]!.address, 30082), ['ECONNREFUSED']);
});

test('a pod reaches itself through its service', async () => {
  assert.deepEqual(names(await ask(l1.processes, 'tcp', '10.96.0.103', 80, { count: 4 })), ['l1']);
});

test('session affinity keeps a client with one pod', async () => {
  for (const from of [l2, w2]) {
    const answers = await ask(from.processes, 'tcp', '10.96.0.104', 80, { count: 10 });
    assert.equal(names(answers).length, 1, answers.join());
  }
});

test('an external IP is served inside the nodes', async () => {
  assert.deepEqual(names(await ask(w2.processes, 'tcp', '203.0.113.7', 80)), ['l2']);
});

test('an external IP that the machine routes to a node is served from outside', async () => {
  const route = { to: '203.0.113.7', via: cluster.nodes[1]!.address } as const;
  await cluster.ports.links.apply([{ do: 'replaceRoute', ...route }]);
  const once = () => ask(linuxProcesses, 'tcp', '203.0.113.7', 80);
  assert.deepEqual(names(await eventually(once, (answers) => answers[0]!.startsWith('l2'))), ['l2']);
  await cluster.ports.links.apply([{ do: 'deleteRoute', ...route }]);
});

test('UDP follows the endpoints: a flow does not go on to a pod that is gone', async () => {
  const once = () => ask(w2.processes, 'udp', '10.96.0.105', 53, { localPort: 4000 });
  assert.deepEqual(names(await once()), ['l1']);
  put('dns', { clusterIP: '10.96.0.105', ports: [{ port: 53, protocol: 'UDP' }] }, [w1]);
  assert.deepEqual(names(await eventually(once, (answers) => answers[0]!.startsWith('w1'))), ['w1']);
});

test('services that come, change and go are followed', async () => {
  const get = () => ask(l2.processes, 'tcp', '10.96.0.110', 80, { count: 12 });
  put('late', { clusterIP: '10.96.0.110', ports: [{ port: 80 }] }, [l1]);
  assert.deepEqual(names(await eventually(get, (a) => a[0]!.startsWith('l1'))), ['l1']);
  put('late', { clusterIP: '10.96.0.110', ports: [{ port: 80 }] }, [l1, l2, w1]);
  assert.deepEqual(names(await eventually(get, (a) => names(a).length === 3)), ['l1', 'l2', 'w1']);
  put('late', { clusterIP: '10.96.0.110', sessionAffinity: 'ClientIP', ports: [{ port: 80 }] }, [l1, w1]);
  await eventually(get, (a) => names(a).length === 1);
  put('late', { clusterIP: '10.96.0.110', ports: [{ port: 80 }] }, []);
  assert.deepEqual(names(await eventually(get, (a) => a[0] === 'ECONNREFUSED')), ['ECONNREFUSED']);
  const text = (await cluster.nodes[0]!.packetFilter.table('ip porthole-proxy')) ?? '';
  assert.match(text, /10\.96\.0\.110/);
  cluster.serviceInformer.remove('late', 'default');
  const gone = () => cluster.nodes[0]!.packetFilter.table('ip porthole-proxy').then((t) => t ?? '');
  assert.doesNotMatch(await eventually(gone, (t) => !t.includes('10.96.0.110')), /10\.96\.0\.110/);
});
