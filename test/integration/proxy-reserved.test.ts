// No Service has an address by which nodes work, also when it becomes known later which one that is.
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

const [resolver, apiServer] = ['192.0.2.53', '203.0.113.6'];
const service: Service = {
  metadata: { name: 'greedy', namespace: 'd' },
  spec: { clusterIP: '10.96.0.9', externalIPs: [resolver, apiServer, '203.0.113.7'], ports: [{ port: 53 }] },
};
const slice: EndpointSlice = {
  metadata: { name: 'greedy-1', namespace: 'd', labels: { 'kubernetes.io/service-name': 'greedy' } },
  addressType: 'IPv4',
  ports: [{ name: '', port: 53, protocol: 'TCP' }],
  endpoints: [{ addresses: ['10.244.1.5'], conditions: { ready: true } }],
};

test('an address that is reserved later is taken from the Services that have it, and given back', async (t) => {
  const informers: Record<string, unknown> = {
    nodes: createMemoryInformer<Node>(nodes, []),
    services: createMemoryInformer<Service>(services, [service]),
    endpointslices: createMemoryInformer<EndpointSlice>(endpointslices, [slice]),
  };
  const packetFilter = createFakePacketFilter();
  const proxy = startProxy({
    informers: { informer: <T>({ resource }: ResourceRef<T>) => informers[resource] as Informer<T> },
    nodeName: 'n1',
    clusterCIDR: '10.244.0.0/16',
    reservedCIDRs: [`${resolver}/32`],
    packetFilter,
    tables: keepTables({ packetFilter, clock: new FakeClock(), log: silentLogger }),
    clock: systemClock,
    log: silentLogger,
    batchMs: 0,
  });
  t.after(() => proxy.stop());
  await proxy.ready();
  const first = packetFilter.applied.join('');
  assert.ok(first.includes('203.0.113.7') && first.includes(apiServer), first);
  assert.ok(!first.includes(resolver), first);

  const written = async (reserved: readonly string[]): Promise<string> => {
    const from = packetFilter.applied.length;
    proxy.reserve(reserved);
    await eventually(() => assert.ok(packetFilter.applied.length > from));
    return packetFilter.applied.slice(from).join('');
  };
  const taken = await written([`${resolver}/32`, `${apiServer}/32`]);
  assert.match(taken, new RegExp(`delete element .*${apiServer.replaceAll('.', '\\.')}`));
  const back = await written([`${resolver}/32`]);
  assert.match(back, new RegExp(`add element .*${apiServer.replaceAll('.', '\\.')}`));
});
