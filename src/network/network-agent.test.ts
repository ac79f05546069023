// A node's network as a loop: wait, repair, try again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../api/generated/types/core-v1.ts';
import type { Clock } from '../base/clock.ts';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { Informer, InformerHandler } from '../client/cache/informer.ts';
import { silentLogger } from '../component-base/logger.ts';
import { keepTables } from '../os/kept-tables.ts';
import type { LinkChange } from '../os/links.ts';
import type { Sysctl } from '../os/sysctl.ts';
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
    hasSynced: () => true,
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
/** A kernel that has these settings and no others. */
function memorySysctl(values: Record<string, string>): Sysctl {
  return {
    get: async (key) => values[key],
    read: async (keys) =>
      Object.fromEntries(keys.flatMap((key) => (values[key] === undefined ? [] : [[key, values[key]]]))),
    set: async (changed) => {
      for (const [key, value] of Object.entries(changed)) if (key in values) values[key] = value;
    },
  };
}
const node = (i: number, podCIDR?: string): Node => ({
  metadata: { name: `n${i}` },
  spec: { podCIDR },
  status: { addresses: [{ type: 'InternalIP', address: `172.30.0.${i}` }] },
});

type AgentOptions = Parameters<typeof startNetworkAgent>[0];

/** The agent of node n2 on a machine with these links and settings; `overrides` say what else a test looks at. */
async function agentOn(
  changes: readonly LinkChange[],
  kernel: Record<string, string>,
  overrides: Partial<AgentOptions> = {},
) {
  const clock = manualClock();
  const syncs = new FakeClock();
  const links = createFakeLinks();
  const packetFilter = createFakePacketFilter();
  const tables = keepTables({ packetFilter, clock: syncs, log: silentLogger });
  const { informer, put } = nodeList();
  const warned: string[] = [];
  await links.apply(changes);
  const agent = startNetworkAgent({
    nodes: informer,
    topology: hostGateway,
    nodeName: 'n2',
    clusterCIDR: '10.244.0.0/16',
    serviceCIDR: '10.96.0.0/12',
    links,
    packetFilter,
    tables,
    sysctl: memorySysctl(kernel),
    settings: {},
    clock,
    log: { ...silentLogger, warn: (_, message) => warned.push(message) },
    ...overrides,
  });
  return { agent, clock, syncs, links, packetFilter, tables, put, warned };
}
const eth0 = [
  { do: 'addBridge', name: 'eth0' },
  { do: 'setLink', name: 'eth0', up: true },
  { do: 'replaceAddress', name: 'eth0', address: '172.30.0.2/24' },
] as const;
const wayOut = [{ do: 'replaceRoute', to: 'default', via: '172.30.0.1', dev: 'eth0' }] as const;
const uplink = { address: '172.30.0.2', gateway: '172.30.0.1' };

test('the agent waits for its podCIDR, repairs what others break, and retries what fails', async () => {
  const cidrs: string[] = [];
  const kernel: Record<string, string> = { 'net/ipv4/ip_forward': '0' };
  const { agent, clock, syncs, links, packetFilter, tables, put, warned } = await agentOn(eth0, kernel, {
    settings: { 'net/ipv4/ip_forward': '1', 'net/bridge/bridge-nf-call-iptables': '0' },
    uplink: { address: '172.30.0.2' },
    onPodCIDR: (cidr) => cidrs.push(cidr),
  });
  let ready = false;
  void agent.ready().then(() => {
    ready = true;
  });
  const routes = async (): Promise<string[]> =>
    (await links.routes())
      .filter((route) => route.protocol === '80')
      .map((route) => `${route.to} ${route.via ?? 'unreachable'}`);

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

  kernel['net/ipv4/ip_forward'] = '0';
  assert.deepEqual(warned, []);
  await clock.fire();
  assert.deepEqual(warned, ['a setting of the network was changed; set again']);
  assert.deepEqual(kernel, { 'net/ipv4/ip_forward': '1' }, 'forwarding is put back');

  packetFilter.lose();
  syncs.advance(30_000);
  await clock.fire();
  assert.deepEqual(await packetFilter.tables(), ['ip porthole-network'], 'what was flushed is there again');
  await tables.stop();
  await agent.stop();
});

test('what `ip route flush table main` takes is there again: subnet, way out, other nodes, pods', async () => {
  const pod = [
    { do: 'addBridge', name: 'ph0af40203' },
    { do: 'setLink', name: 'ph0af40203', up: true },
    { do: 'replaceRoute', to: '10.244.2.3', dev: 'ph0af40203', scope: 'link', protocol: 80 },
  ] as const;
  const { agent, clock, links, put } = await agentOn([...eth0, ...wayOut, ...pod], {}, { uplink });
  const routes = async (): Promise<string[]> =>
    (await links.routes()).map(({ to, via, dev, protocol }) => `${to} ${via} ${dev} ${protocol}`).sort();
  put(node(2, '10.244.2.0/24'));
  put(node(3, '10.244.3.0/24'));
  await clock.fire();
  const whole = await routes();
  assert.equal(whole.length, 5);
  links.disturb((await links.routes()).map(({ to }) => ({ do: 'deleteRoute', to })));
  assert.deepEqual(await routes(), []);
  for (let look = 0; look < 3; look++) await clock.fire();
  assert.deepEqual(await routes(), whole);
  await agent.stop();
});

test('an interface of the node that was set down, or lost its address, is as it was, with all routes', async () => {
  const lo = { do: 'setLink', name: 'lo', up: true } as const;
  const { agent, clock, links, put, warned } = await agentOn([lo, ...eth0, ...wayOut], {}, { uplink });
  const state = async () => [
    (await links.links()).map(({ name, up, addresses }) => `${name} ${up} ${addresses}`),
    (await links.routes()).map(({ to, via, dev, protocol }) => `${to} ${via} ${dev} ${protocol}`).sort(),
  ];
  put(node(2, '10.244.2.0/24'));
  put(node(3, '10.244.3.0/24'));
  await clock.fire();
  const whole = await state();
  assert.equal(warned.join(), '');
  const down = (name: string) => [{ do: 'setLink', name, up: false } as const];
  const gone = [{ do: 'deleteAddress', name: 'eth0', address: '172.30.0.2/24' } as const];
  for (const harm of [down('eth0'), down('lo'), gone, [...gone, ...down('eth0'), ...down('lo')]]) {
    links.disturb(harm);
    assert.notDeepEqual(await state(), whole);
    await clock.fire();
    assert.deepEqual(await state(), whole, JSON.stringify(harm));
  }
  const [set, given] = [
    'links of this machine to its cluster were set down; set up again',
    'addresses of this machine in its cluster were gone; given back',
  ];
  assert.deepEqual(
    warned.filter((message) => !message.startsWith('routes ')),
    [set, set, given, set, given],
  );
  await agent.stop();
});

test('what cannot be done keeps nothing else from being done', async () => {
  const kernel: Record<string, string> = { 'net/ipv4/ip_forward': '0' };
  const said: string[] = [];
  const changes: LinkChange[] = [
    { do: 'addBridge', name: 'eth0' },
    { do: 'replaceAddress', name: 'eth0', address: '172.30.0.2/24' },
    { do: 'deleteRoute', to: '172.30.0.0/24' },
  ];
  const { agent, clock, links, packetFilter, put } = await agentOn(changes, kernel, {
    settings: { 'net/ipv4/ip_forward': '1' },
    log: { ...silentLogger, error: (_, message) => said.push(message) },
  });
  put(node(3, '10.244.3.0/24')); // cannot be reached without the subnet's route, and comes first
  put(node(2, '10.244.2.0/24'));
  for (let look = 0; look < 3; look++) await clock.fire();
  assert.deepEqual(
    (await links.routes()).map(({ to, unreachable }) => [to, unreachable]),
    [['10.244.2.0/24', true]],
  );
  assert.equal(kernel['net/ipv4/ip_forward'], '1');
  assert.equal(packetFilter.applied.length, 1);
  assert.equal(said.length, 1, 'said once, not each second');
  await agent.stop();
});

test('on a machine that clusters share, each keeps and removes the routes on its own bridge alone', async () => {
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
        sysctl: memorySysctl({}),
        settings: {},
        uplink: { interface: bridge },
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
    { do: 'setLink', name: 'phb-a', up: true },
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
    '172.30.0.0/24 phb-a undefined',
    '172.30.1.0/24 phb-b undefined',
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
