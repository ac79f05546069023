// What a namespace's Services may cost a node, through the whole proxy: who waits for room gets it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endpointslices, nodes, services } from '../../src/api/generated/resources.ts';
import type { Node, Service } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { keepTables } from '../../src/os/kept-tables.ts';
import { createFakePacketFilter } from '../../src/os/testing/fake-packet-filter.ts';
import { startProxy } from '../../src/proxy/proxier.ts';
import { eventually } from '../harness/eventually.ts';
import { createMemoryInformer } from '../harness/memory-informer.ts';

const externalIPs = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => `203.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
const service = (name: string, clusterIP: string, portCount: number, addresses: number): Service => ({
  metadata: { name, namespace: 'd' },
  spec: {
    clusterIP,
    ports: Array.from({ length: portCount }, (_, i) => ({ name: `p${i}`, port: i + 1 })),
    externalIPs: externalIPs(addresses),
  },
});

test('a Service that waits for room gets it when room is made right after it was looked at in vain', async (t) => {
  const large = ['a', 'b', 'c', 'd'].map((name, i) => service(name, `10.96.0.${i + 1}`, 50, 980));
  const small = service('small', '10.96.0.99', 10, 500);
  const serviceInformer = createMemoryInformer<Service>(services, [...large, small]);
  const informers: Record<string, unknown> = {
    nodes: createMemoryInformer<Node>(nodes, [{ metadata: { name: 'n1' }, spec: {} }]),
    services: serviceInformer,
    endpointslices: createMemoryInformer<EndpointSlice>(endpointslices, []),
  };
  const packetFilter = createFakePacketFilter();
  const proxy = startProxy({
    informers: { informer: <T>({ resource }: ResourceRef<T>) => informers[resource] as Informer<T> },
    nodeName: 'n1',
    clusterCIDR: '10.244.0.0/16',
    reservedCIDRs: [],
    packetFilter,
    tables: keepTables({ packetFilter, clock: new FakeClock(), log: silentLogger }),
    clock: systemClock,
    log: silentLogger,
    batchMs: 0,
  });
  t.after(() => proxy.stop());
  await proxy.ready();
  assert.ok(packetFilter.applied[0]!.includes('10.96.0.4'));
  assert.ok(!packetFilter.applied[0]!.includes('10.96.0.99'), 'no room is left for it');
  // one batch: the one that waits, then the one that makes room for it
  serviceInformer.put({ ...small });
  serviceInformer.remove('a', 'd');
  await eventually(() => assert.ok(packetFilter.applied.slice(1).join('').includes('10.96.0.99')));
});
