// Random changes of services applied one by one give the same nftables table as writing it whole; foreign changes heal.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { endpointslices, nodes, services } from '../../src/api/generated/resources.ts';
import type { Node, Service } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { atOnce, type Steps } from '../../src/base/turns.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { type Logger, silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { keepTables, type TableOwner } from '../../src/os/kept-tables.ts';
import { linuxPacketFilter } from '../../src/os/linux/nft-packet-filter.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { NftablesBackend } from '../../src/proxy/backends/nftables/nftables.ts';
import { desiredRules } from '../../src/proxy/desired-rules.ts';
import { HeldRules } from '../../src/proxy/held-rules.ts';
import { startProxy } from '../../src/proxy/proxier.ts';
import { eventually } from '../harness/eventually.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';

const rulesNow = (...of: Parameters<typeof desiredRules>) => atOnce(desiredRules(...of));

const packetFilter = linuxPacketFilter(linuxProcesses);
after(() => packetFilter.close());
const node = { name: 'n1', zone: undefined, reserved: [] };
const clusterCIDR = '10.244.0.0/16';

/** The backend, with the services that it was told. */
function startBackend() {
  let owner: TableOwner | undefined;
  const tables = {
    keep: (one: TableOwner) => {
      owner = one;
      return () => undefined;
    },
    stop: async () => undefined,
  };
  const clock = new FakeClock();
  const inSteps = async <T>(steps: Steps<T>): Promise<T> => atOnce(steps);
  const backend = new NftablesBackend({
    packetFilter,
    tables,
    clusterCIDR,
    clock,
    inSteps,
    log: silentLogger,
  });
  backend.keep(async () => undefined);
  const rules = new HeldRules();
  return {
    set: (service: string, wanted: ReturnType<typeof rulesNow> | undefined) => rules.want(service, wanted),
    change: () => backend.change(atOnce(rules.changes())),
    replace: async () => {
      atOnce(rules.changes());
      await backend.replace(rules.all());
    },
    missing: async () => {
      clock.advance(3_600_000); // a look has its rest
      return (await owner?.missing?.())?.what;
    },
  };
}

interface NftObject {
  readonly map?: { readonly name: string; readonly elem?: readonly unknown[] };
  readonly set?: { readonly name: string; readonly elem?: readonly unknown[] };
  readonly rule?: { readonly chain: string; readonly expr: readonly unknown[] };
}

/** Elements of maps and rules of chains that any element or rule leads to. */
async function table(): Promise<unknown> {
  const text = await runOrThrow(linuxProcesses, 'nft', ['-j', 'list', 'table', 'ip', 'porthole-proxy']);
  const objects = (JSON.parse(text) as { nftables: NftObject[] }).nftables;
  const maps: Record<string, string[]> = {};
  const chains: Record<string, string[]> = {};
  for (const { map, set, rule } of objects) {
    const named = map ?? set;
    if (named !== undefined) maps[named.name] = (named.elem ?? []).map((e) => JSON.stringify(e)).sort();
    if (rule !== undefined) chains[rule.chain] = [...(chains[rule.chain] ?? []), JSON.stringify(rule.expr)];
  }
  const reached = JSON.stringify(maps);
  for (const name of Object.keys(chains))
    if (/^(service|nodeport)-/.test(name) && !reached.includes(`"${name}"`)) delete chains[name];
  return { maps, chains };
}

/** A small generator with a seed: failures repeat. */
function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function randomService(uint: (below: number) => number, i: number): [Service, EndpointSlice] {
  const protocol = uint(3) === 0 ? 'UDP' : 'TCP';
  const type = ['ClusterIP', 'NodePort', 'LoadBalancer'][uint(3)]!;
  const service: Service = {
    metadata: { namespace: 'default', name: `s${i}` },
    spec: {
      type,
      clusterIP: `10.96.0.${i + 1}`,
      // now and then two services want the same
      externalIPs: uint(4) === 0 ? [`203.0.113.${uint(3)}`] : [],
      externalTrafficPolicy: uint(2) === 0 ? 'Local' : 'Cluster',
      internalTrafficPolicy: uint(3) === 0 ? 'Local' : 'Cluster',
      sessionAffinity: uint(3) === 0 ? 'ClientIP' : 'None',
      loadBalancerSourceRanges: uint(2) === 0 ? ['198.51.100.0/24', '192.0.2.7/32'] : [],
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 + uint(2) } },
      ports: [{ name: 'a', port: 80, protocol, nodePort: type === 'ClusterIP' ? 0 : 30000 + i }],
    },
    status: { loadBalancer: { ingress: [{ ip: `203.0.113.${100 + i}` }] } },
  };
  return [
    service,
    {
      metadata: { namespace: 'default', name: `s${i}-1` },
      addressType: 'IPv4',
      ports: [{ name: 'a', port: 8080, protocol }],
      endpoints: Array.from({ length: uint(4) }, () => ({
        addresses: [`10.244.1.${2 + uint(6)}`],
        nodeName: `n${1 + uint(2)}`,
      })),
    },
  ];
}

test('after each of many random changes the table is what a whole rewrite would give', async () => {
  const uint = generator(7);
  const backend = startBackend();
  await backend.replace();
  for (let round = 0; round < 12; round++) {
    for (let step = 0; step < 15; step++) {
      for (let n = 1 + uint(3); n > 0; n--) {
        const i = uint(12);
        const [service, slice] = randomService(uint, i);
        backend.set(`default/s${i}`, uint(5) === 0 ? undefined : rulesNow(service, [slice], node));
      }
      await backend.change();
    }
    const changed = await table();
    assert.equal(await backend.missing(), undefined, `round ${round}`);
    await backend.replace();
    assert.deepEqual(changed, await table(), `round ${round}`);
    assert.equal(await backend.missing(), undefined, `round ${round}, written whole`);
  }
});

test('when something else wrote to the table, the next change is refused; then it is written whole', async () => {
  const backend = startBackend();
  const [service, slice] = randomService(generator(1), 3);
  backend.set('default/s3', rulesNow(service, [slice], node));
  await backend.replace();
  const good = await table();
  await runOrThrow(linuxProcesses, 'nft', ['delete', 'table', 'ip', 'porthole-proxy']);
  const [other, otherSlice] = randomService(generator(2), 4);
  backend.set('default/s4', rulesNow(other, [otherSlice], node));
  await assert.rejects(backend.change(), /No such file or directory/);
  await backend.replace();
  backend.set('default/s4', undefined);
  await backend.change();
  assert.deepEqual(await table(), good);
});

test('a single rule that somebody deleted is missed, and so is an element', async () => {
  const backend = startBackend();
  const uint = generator(11);
  for (let i = 0; i < 12; i++) {
    const [service, slice] = randomService(uint, i);
    backend.set(`default/s${i}`, rulesNow(service, [slice], node));
  }
  const name = ['ip', 'porthole-proxy'];
  const nft = (...command: string[]): Promise<string> => runOrThrow(linuxProcesses, 'nft', command);
  await backend.replace();
  const objects = (JSON.parse(await nft('-j', 'list', 'table', ...name)) as { nftables: NftObject[] })
    .nftables;
  for (const chain of new Set(objects.flatMap(({ rule }) => rule?.chain ?? []))) {
    await backend.replace();
    const text = await nft('-a', 'list', 'chain', ...name, chain);
    const handles = [...text.matchAll(/^\t\t.*# handle (\d+)$/gm)].map(([, handle]) => handle!);
    assert.equal(await backend.missing(), undefined);
    await nft('delete', 'rule', ...name, chain, 'handle', handles.at(-1)!);
    assert.equal(await backend.missing(), `lost 1 of ${handles.length} rules of ${chain}`);
  }
  for (const { map, set } of objects) {
    const named = map ?? set;
    const count = named?.elem?.length ?? 0;
    if (named === undefined || count === 0) continue;
    await backend.replace();
    await nft('flush', map ? 'map' : 'set', ...name, named.name);
    assert.equal(await backend.missing(), `lost ${count} of ${count} elements of ${named.name}`);
  }
});

test('the proxy has what was taken from its table again at the next look, and writes nothing otherwise', async (t) => {
  const [service, slice] = randomService(generator(3), 1);
  const informers: Record<string, unknown> = {
    nodes: createMemoryInformer<Node>(nodes, [{ metadata: { name: 'n1' }, spec: {} }]),
    services: createMemoryInformer<Service>(services, [service]),
    endpointslices: createMemoryInformer<EndpointSlice>(endpointslices, [slice]),
  };
  const warned: string[] = [];
  const said: Logger = { ...silentLogger, warn: (_, message) => void warned.push(message) };
  const looks = Promise.withResolvers<void>();
  let left = 5;
  const outlines = async () => {
    if (--left === 0) looks.resolve();
    return await packetFilter.outlines();
  };
  const clock = systemClock;
  const tables = keepTables({ packetFilter: { outlines }, clock, log: said, syncPeriodMs: 50 });
  t.after(() => tables.stop());
  const proxy = startProxy({
    informers: { informer: <T>({ resource }: ResourceRef<T>) => informers[resource] as Informer<T> },
    nodeName: 'n1',
    clusterCIDR,
    reservedCIDRs: [],
    backend: new NftablesBackend({ packetFilter, tables, clusterCIDR, clock, log: said }),
    clock,
    log: said,
  });
  t.after(() => proxy.stop());
  await proxy.ready();
  const whole = await table();
  await looks.promise;
  assert.deepEqual(warned, []);
  const name = ['ip', 'porthole-proxy'];
  await runOrThrow(linuxProcesses, 'nft', ['flush', 'set', ...name, 'cluster-ips']);
  await eventually(async () => assert.deepEqual(await table(), whole));
  const text = await runOrThrow(linuxProcesses, 'nft', ['-a', 'list', 'chain', ...name, 'dispatch']);
  const [, handle] = /vmap @services # handle (\d+)/.exec(text)!;
  await runOrThrow(linuxProcesses, 'nft', ['delete', 'rule', ...name, 'dispatch', 'handle', handle!]);
  await eventually(async () => assert.deepEqual(await table(), whole));
  await eventually(() => assert.equal(warned.length, 2));
  assert.match(warned[0]!, /^the table ip porthole-proxy lost 1 of 1 elements of cluster-ips; written anew$/);
  assert.match(warned[1]!, /lost 1 of 2 rules of dispatch; written anew$/);
});
