// A node's network as a loop: wait, repair, try again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Informer, InformerHandler } from '../client/cache/informer.ts';
import { silentLogger } from '../component-base/logger.ts';
import { keepTables } from '../os/kept-tables.ts';
import { createFakeLinks } from '../os/testing/fake-links.ts';
import { createFakePacketFilter } from '../os/testing/fake-packet-filter.ts';
import { startNetworkAgent } from './network-agent.ts';
import { hostGateway } from './topologies/host-gateway.ts';

/** Timers run when the test says so, whatever their time. */
function manualClock(): Clock & { fire(): Promise<void> } {
  const timers = new Set<() => void>();
  return {
    now: () => 0,
    monotonic: () => 0,
    sleep: async () => undefined,
    timer: (_, run) => {
      timers.add(run);
      return () => timers.delete(run);
    },
    fire: async () => {
      const due = [...timers];
      timers.clear();
      for (const run of due) run();
      for (let i = 0; i < 20; i++) await Promise.resolve();
      await new Promise((done) => setImmediate(done));
    },
  };
}

function nodeList(): { informer: Informer<Node>; put(node: Node): void } {
  const objects = new Map<string, Node>();
  const handlers: InformerHandler<Node>[] = [];
  const informer = {
    lister: { list: () => [...objects.values()] },
    synced: async () => undefined,
    addHandler: (handler: InformerHandler<Node>) => {
      handlers.push(handler);
      return () => undefined;
    },
  } as unknown as Informer<Node>;
  return {
    informer,
    put: (node) => {
      const old = objects.get(node.metadata.name!);
      objects.set(node.metadata.name!, node);
      for (const handler of handlers)
        if (old) handler.updated?.(old, node);
        else handler.added?.(node);
    },
  };
}
const node = (i: number, podCIDR?: string): Node => ({
  metadata: { name: `n${i}` },
  spec: { podCIDR },
  status: { addresses: [{ type: 'InternalIP', address: `172.30.0.${i}` }] },
});

test('the agent waits for its podCIDR, repairs what others break, and retries what fails', async () => {
  const clock = manualClock();
  const links = createFakeLinks();
  const packetFilter = createFakePacketFilter();
  const syncs = new FakeClock();
  const tables = keepTables({ packetFilter, clock: syncs, log: silentLogger });
  const { informer, put } = nodeList();
  const cidrs: string[] = [];
  await links.apply([
    { do: 'addBridge', name: 'eth0' },
    { do: 'replaceAddress', name: 'eth0', address: '172.30.0.2/24' },
  ]);
  const agent = startNetworkAgent({
    nodes: informer,
    topology: hostGateway,
    nodeName: 'n2',
    clusterCIDR: '10.244.0.0/16',
    serviceCIDR: '10.96.0.0/12',
    links,
    packetFilter,
    tables,
    sysctl: { get: async () => undefined, set: async () => undefined },
    clock,
    log: silentLogger,
    onPodCIDR: (cidr) => cidrs.push(cidr),
  });
  let ready = false;
  void agent.ready().then(() => {
    ready = true;
  });
  const routes = async (): Promise<string[]> =>
    (await links.routes()).map((route) => `${route.to} ${route.via ?? 'unreachable'}`);

  put(node(2));
  put(node(3, '10.244.3.0/24'));
  await clock.fire();
  assert.deepEqual([ready, cidrs, await routes()], [false, [], ['10.244.3.0/24 172.30.0.3']]);

  packetFilter.failNext('busy');
  put(node(2, '10.244.2.0/24'));
  await clock.fire();
  assert.equal(ready, false, 'not before the rules are in');
  await clock.fire();
  assert.deepEqual([ready, cidrs], [true, ['10.244.2.0/24']]);
  assert.match(packetFilter.applied.at(-1)!, /10\.244\.2\.0\/24/);

  links.disturb([{ do: 'deleteRoute', to: '10.244.3.0/24' }]);
  await clock.fire();
  assert.deepEqual((await routes()).sort(), ['10.244.2.0/24 unreachable', '10.244.3.0/24 172.30.0.3']);

  const written = packetFilter.applied.length;
  await clock.fire();
  assert.equal(packetFilter.applied.length, written, 'a resync without differences writes nothing');

  packetFilter.lose();
  syncs.advance(30_000);
  await clock.fire();
  assert.deepEqual(await packetFilter.tables(), ['ip porthole-network'], 'what was flushed is there again');
  await tables.stop();
  await agent.stop();
});

test('R1: on a machine that clusters share, each keeps and removes the routes on its own bridge alone', async () => {
  const links = createFakeLinks();
  const cluster = (bridge: string, net: string, pods: string) => {
    const clock = manualClock();
    const { informer, put } = nodeList();
    const start = () =>
      startNetworkAgent({
        nodes: informer,
        topology: hostGateway,
        nodeName: undefined,
        interface: bridge,
        clusterCIDR: `${pods}.0.0/16`,
        serviceCIDR: '10.96.0.0/16',
        links,
        packetFilter: createFakePacketFilter(),
        tables: keepTables({
          packetFilter: createFakePacketFilter(),
          clock: new FakeClock(),
          log: silentLogger,
        }),
        sysctl: { get: async () => undefined, set: async () => undefined },
        clock,
        log: silentLogger,
      });
    const at = (i: number, podCIDR: string, address = `${net}.${i}`): Node => ({
      ...node(i, podCIDR),
      status: { addresses: [{ type: 'InternalIP', address }] },
    });
    return { clock, put, start, at };
  };
  await links.apply([
    { do: 'addBridge', name: 'phb-a' },
    { do: 'replaceAddress', name: 'phb-a', address: '172.30.0.1/24' },
    { do: 'addBridge', name: 'phb-b' },
    { do: 'replaceAddress', name: 'phb-b', address: '172.30.1.1/24' },
    { do: 'addBridge', name: 'vpn0' },
    { do: 'replaceRoute', to: '10.128.9.0/24', dev: 'vpn0' },
  ]);
  const a = cluster('phb-a', '172.30.0', '10.244');
  const b = cluster('phb-b', '172.30.1', '10.128');
  const [first, second] = [a.start(), b.start()];
  a.put(a.at(2, '10.244.0.0/24'));
  b.put(b.at(2, '10.128.0.0/24'));
  b.put(b.at(9, '10.128.9.0/24'));
  b.put(b.at(7, '10.128.7.0/24', '172.30.0.7'));
  const everyRoute = [
    '10.128.0.0/24 phb-b 172.30.1.2',
    '10.128.9.0/24 vpn0 undefined',
    '10.244.0.0/24 phb-a 172.30.0.2',
  ];
  for (let round = 0; round < 3; round++) {
    for (const { clock } of [a, b]) await clock.fire();
    const routes = (await links.routes()).map(({ to, dev, via }) => `${to} ${dev} ${via}`);
    assert.deepEqual(routes.sort(), everyRoute);
  }
  assert.deepEqual(first.problems(), []);
  assert.match(second.problems().join('; '), /n7 at 172\.30\.0\.7 is not in a subnet of this machine/);
  assert.match(second.problems().join('; '), /10\.128\.9\.0\/24 is routed by somebody else on vpn0/);
  await Promise.all([first.stop(), second.stop()]);
});
