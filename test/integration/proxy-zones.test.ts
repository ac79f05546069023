// The proxy follows its node: in which zone it is decides which endpoints are near.
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

const node = (name: string, zone?: string): Node => ({
  metadata: { name, labels: zone === undefined ? {} : { 'topology.kubernetes.io/zone': zone } },
  spec: {},
});
const near = (ip: string, zone: string) => ({
  addresses: [ip],
  nodeName: `node-of-${zone}`,
  zone,
  conditions: { ready: true },
  hints: { forZones: [{ name: zone }] },
});

test("R12: hints to zones are followed by the node's label, also when it is set or changed later", async (t) => {
  const nodeInformer = createMemoryInformer<Node>(nodes, [node('n1'), node('other', 'b')]);
  const informers: Record<string, unknown> = {
    nodes: nodeInformer,
    services: createMemoryInformer<Service>(services, [
      { metadata: { name: 'web', namespace: 'd' }, spec: { clusterIP: '10.96.0.9', ports: [{ port: 80 }] } },
    ]),
    endpointslices: createMemoryInformer<EndpointSlice>(endpointslices, [
      {
        metadata: { name: 'web-1', namespace: 'd', labels: { 'kubernetes.io/service-name': 'web' } },
        addressType: 'IPv4',
        ports: [{ name: '', port: 8080, protocol: 'TCP' }],
        endpoints: [near('10.244.1.5', 'a'), near('10.244.2.6', 'b')],
      },
    ]),
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
  const first = packetFilter.applied.join('');
  assert.ok(first.includes('10.244.1.5') && first.includes('10.244.2.6'), 'no zone: all of them');

  /** What the change of the label made the proxy write. */
  const written = async (zone: string): Promise<string> => {
    const from = packetFilter.applied.length;
    nodeInformer.put(node('n1', zone));
    await eventually(() => assert.ok(packetFilter.applied.length > from));
    return packetFilter.applied.slice(from).join('');
  };
  // of the two endpoints one is left: the element of the only one is written anew
  const added = (text: string): string[] => text.match(/add element .*endpoints .*/g) ?? [];
  const toB = added(await written('b')).join('');
  assert.ok(toB.includes('10.244.2.6') && !toB.includes('10.244.1.5'), toB);
  const toA = added(await written('a')).join('');
  assert.ok(toA.includes('10.244.1.5') && !toA.includes('10.244.2.6'), toA);
});
