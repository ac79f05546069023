// A node's proxy over objects that a test sets by hand and a packet filter that keeps what it was given.
import type { TestContext } from 'node:test';
import { endpointslices, nodes, services } from '../../src/api/generated/resources.ts';
import type { Node, Service } from '../../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../../src/api/generated/types/discovery-v1.ts';
import type { ResourceRef } from '../../src/apimachinery/resource-ref.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import type { Informer } from '../../src/client/cache/informer.ts';
import { silentLogger } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { keepTables } from '../../src/os/kept-tables.ts';
import { createFakePacketFilter, type FakePacketFilter } from '../../src/os/testing/fake-packet-filter.ts';
import { proxyBackends } from '../../src/proxy/backends/registry.ts';
import { startProxy } from '../../src/proxy/proxier.ts';
import { eventually } from './eventually.ts';
import { createMemoryInformer, type MemoryInformer } from './memory-informer.ts';

export interface MemoryProxy {
  readonly proxy: ReturnType<typeof startProxy>;
  readonly nodes: MemoryInformer<Node>;
  readonly services: MemoryInformer<Service>;
  readonly packetFilter: FakePacketFilter;
  /** What a change makes the proxy write. */
  written(change: () => void): Promise<string>;
}

/** That of node n1; resolves when its first rules are in. */
export async function startMemoryProxy(
  t: TestContext,
  objects: {
    readonly nodes?: readonly Node[];
    readonly services: readonly Service[];
    readonly slices?: readonly EndpointSlice[];
    readonly reservedCIDRs?: readonly string[];
  },
): Promise<MemoryProxy> {
  const of = {
    nodes: createMemoryInformer<Node>(nodes, objects.nodes ?? []),
    services: createMemoryInformer<Service>(services, objects.services),
    endpointslices: createMemoryInformer<EndpointSlice>(endpointslices, objects.slices ?? []),
  };
  const informers: Readonly<Record<string, unknown>> = of;
  const packetFilter = createFakePacketFilter();
  const proxy = startProxy({
    informers: { informer: <T>({ resource }: ResourceRef<T>) => informers[resource] as Informer<T> },
    nodeName: 'n1',
    clusterCIDR: '10.244.0.0/16',
    reservedCIDRs: objects.reservedCIDRs ?? [],
    backend: proxyBackends.nftables({
      packetFilter,
      tables: keepTables({ packetFilter, clock: new FakeClock(), log: silentLogger }),
      clusterCIDR: '10.244.0.0/16',
      clock: systemClock,
      log: silentLogger,
    }),
    clock: systemClock,
    log: silentLogger,
    batchMs: 0,
  });
  t.after(() => proxy.stop());
  await proxy.ready();
  return {
    proxy,
    nodes: of.nodes,
    services: of.services,
    packetFilter,
    async written(change) {
      const from = packetFilter.applied.length;
      change();
      await eventually(() => {
        if (packetFilter.applied.length === from) throw new Error('nothing was written');
      });
      return packetFilter.applied.slice(from).join('');
    },
  };
}
