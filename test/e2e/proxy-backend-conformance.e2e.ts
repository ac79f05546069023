// The nftables data plane keeps the contract of all, with real packets from pods, the node and outside.
import assert from 'node:assert/strict';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { fabricTable } from '../../src/network/fabric-plan.ts';
import { keepTables } from '../../src/os/kept-tables.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { proxyBackends } from '../../src/proxy/backends/registry.ts';
import type { ProxyBackend } from '../../src/proxy/proxy-backend.ts';
import {
  type BackendWorld,
  proxyBackendConformance,
  type Reply,
  type Sender,
} from '../../src/proxy/testing/proxy-backend-conformance.ts';
import { eventually } from '../harness/eventually.ts';
import {
  ask,
  clusterCIDR,
  type NetworkCluster,
  serveProbe,
  startNetworkCluster,
  textOf,
} from '../harness/network-cluster.ts';

const external = '203.0.113.7';

/** Led to the node from outside, and what the node answers as it is heard. */
async function announce(cluster: NetworkCluster, via: string): Promise<void> {
  await cluster.ports.links.apply([{ do: 'replaceRoute', to: external, via }]);
  const spec = { externalIPs: [external], ports: [{ port: 80 }] };
  cluster.serviceInformer.put({ metadata: { name: 'announced', namespace: 'default' }, spec });
  await eventually(async () => {
    const set = ['netdev', fabricTable('e2e'), 'announced'];
    assert.match(await textOf(linuxProcesses, 'nft', 'list', 'set', ...set), /203\.0\.113\.7/);
  });
}

async function open(): Promise<BackendWorld> {
  const cluster = await startNetworkCluster([
    { name: 'n1', os: 'linux' },
    { name: 'n2', os: 'linux' },
  ]);
  const [node, other] = [cluster.nodes[0]!, cluster.nodes[1]!];
  const [client, near, far] = [
    await cluster.addPod('client', node),
    await cluster.addPod('near', node),
    await cluster.addPod('far', other),
  ];
  const stops = [
    await serveProbe(near.processes, near.ip, 8080),
    await serveProbe(far.processes, far.ip, 8080),
  ];
  await announce(cluster, node.address);
  const { packetFilter } = node;
  const tables = keepTables({ packetFilter, clock: systemClock, log: silentLogger, syncPeriodMs: 50 });
  const another = (): ProxyBackend =>
    proxyBackends.nftables({ packetFilter, tables, clusterCIDR, clock: systemClock, log: silentLogger });
  const senders = {
    pod: client.processes,
    near: near.processes,
    node: node.processes,
    outside: linuxProcesses,
  } satisfies Record<Sender, unknown>;
  const replyOf = (answer: string): Reply => {
    const [at = '', from] = answer.split(' ');
    if (from !== undefined) return { at, from };
    return answer === 'ECONNREFUSED' ? 'refused' : 'nothing';
  };
  return {
    backend: another(),
    another,
    near: { ip: near.ip, port: 8080, local: true },
    far: { ip: far.ip, port: 8080, local: false },
    addresses: { pod: client.ip, near: near.ip, node: node.address, outside: cluster.fabric.gateway },
    external,
    ask: async (from, to, port, count = 1) =>
      (await ask(senders[from], 'tcp', to, port, { count })).map(replyOf),
    lose: async () => void (await textOf(node.processes, 'nft', 'delete', 'table', 'ip', 'porthole-proxy')),
    look: async () => undefined,
    close: async () => {
      await tables.stop();
      for (const stop of stops) stop();
      await cluster.close();
    },
  };
}

proxyBackendConformance('nftables', open);
