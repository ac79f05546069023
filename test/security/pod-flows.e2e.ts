// The table of connections of a node: what one pod may have of it, and that the others go on.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { endpointslices } from '../../src/api/generated/resources.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { tableSizeKey } from '../../src/network/flow-shares.ts';
import { proxyBackends } from '../../src/proxy/backends/registry.ts';
import { startProxy } from '../../src/proxy/proxier.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';
import {
  ask,
  clusterCIDR,
  type NetworkCluster,
  serveProbe,
  startNetworkCluster,
  type TestPod,
  textOf,
} from '../harness/network-cluster.ts';

const serviceIP = '10.96.0.20';
const sockets = 64;
const ports = 500;
/** Datagrams from each of the sockets to each of the ports of an address: each begins what is tracked as a connection. */
const flood = `
const { createSocket } = require('node:dgram');
const [address] = process.argv.slice(1);
const turn = () => new Promise((resolve) => setImmediate(resolve));
(async () => {
  for (let i = 0; i < ${sockets}; i++) {
    const socket = createSocket('udp4');
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.bind(0, resolve));
    for (let port = 20000; port < 20000 + ${ports}; port++) {
      socket.send('x', port, address);
      if (port % 50 === 0) await turn();
    }
    await turn();
  }
  console.log('sent');
  process.exit();
})();`;

let cluster: NetworkCluster;
let hostile: TestPod;
let elsewhere: TestPod;
let client: TestPod;

before(async () => {
  cluster = await startNetworkCluster([
    { name: 'linux-1', os: 'linux' },
    { name: 'linux-2', os: 'linux' },
  ]);
  const [first, second] = cluster.nodes;
  hostile = await cluster.addPod('hostile', first!);
  client = await cluster.addPod('client', first!);
  elsewhere = await cluster.addPod('elsewhere', second!);
});
after(() => cluster.close());

/** A Service of the pod, resolved on the client's node. */
async function serviceOf(
  pod: TestPod,
  { packetFilter, tables }: TestPod['node'],
): Promise<() => Promise<void>> {
  const port = { name: '', port: 8080, protocol: 'TCP' };
  cluster.serviceInformer.put({
    metadata: { name: 'web', namespace: 'default' },
    spec: { clusterIP: serviceIP, clusterIPs: [serviceIP], ports: [{ ...port, port: 80 }] },
  });
  const slice: EndpointSlice = {
    metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [{ addresses: [pod.ip], nodeName: pod.node.name, conditions: { ready: true } }],
    ports: [port],
  };
  const informers: Readonly<Record<string, unknown>> = {
    nodes: cluster.nodeInformer,
    services: cluster.serviceInformer,
    endpointslices: createMemoryInformer<EndpointSlice>(endpointslices, [slice]),
  };
  const proxy = startProxy({
    informers: { informer: <T>({ resource }: ResourceRef<T>) => informers[resource] as Informer<T> },
    nodeName: 'linux-1',
    clusterCIDR,
    reservedCIDRs: [],
    backend: proxyBackends.nftables({
      packetFilter,
      tables,
      clusterCIDR,
      clock: systemClock,
      log: silentLogger,
    }),
    clock: systemClock,
    log: silentLogger,
  });
  await proxy.ready();
  return () => proxy.stop();
}

const tracked = async (node: TestPod['node'], from: string): Promise<number> => {
  const listed = await textOf(node.processes, 'conntrack', '-L', '-s', from, '-o', 'id');
  return listed.split('\n').filter((line) => line.includes(`src=${from} `)).length;
};

test('a pod fills its share of the tables of the nodes, and no more; another pod’s client of a Service goes on', async (t) => {
  t.after(await serveProbe(elsewhere.processes, 'there', 8080));
  t.after(await serviceOf(elsewhere, client.node));
  const asks = async (from: TestPod): Promise<Set<string>> =>
    new Set(await ask(from.processes, 'tcp', serviceIP, 80, { count: 30 }));
  assert.deepEqual(await asks(client), new Set([`there ${client.ip}`]));
  assert.match(await textOf(hostile.processes, process.execPath, '-e', flood, elsewhere.ip), /^sent/);
  const share = Number(await cluster.nodes[0]!.host.sysctl.get(tableSizeKey)) / 16;
  assert.ok(share < sockets * ports, `${sockets * ports} are more than ${share}`);
  for (const node of cluster.nodes) {
    const found = await tracked(node, hostile.ip);
    assert.ok(found > share / 2 && found <= share, `${found} of ${share} on ${node.name}`);
  }
  assert.deepEqual(await asks(client), new Set([`there ${client.ip}`]));
});
