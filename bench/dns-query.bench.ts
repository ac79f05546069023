// What one question about a Service costs the DNS server, with 10,000 services in memory.
import { decode, encode } from 'dns-packet';
import { endpointslices, namespaces, services } from '../src/api/generated/resources.ts';
import type { Service } from '../src/api/generated/types/core-v1.ts';
import type { ResourceRef } from '../src/apimachinery/resource-ref.ts';
import type { Informer } from '../src/client/cache/informer.ts';
import { silentLogger } from '../src/component-base/logger.ts';
import { systemClock } from '../src/component-base/system-clock.ts';
import { systemRandom } from '../src/component-base/system-random.ts';
import { createDnsHandler } from '../src/network/dns/dns-server.ts';
import { createMemoryInformer } from '../test/harness/memory-informer.ts';
import { type Bench, cpuPerOperation } from './bench.ts';

const count = 10_000;
const questions = 20_000;

const serviceInformer = createMemoryInformer<Service>(
  services,
  Array.from({ length: count }, (_, i) => ({
    metadata: { name: `s${i}`, namespace: 'default' },
    spec: { clusterIP: `10.96.${i >> 8}.${i & 255}`, ports: [{ port: 80 }] },
  })),
);
const empty = [createMemoryInformer(endpointslices), createMemoryInformer(namespaces)];

export const bench: Bench = {
  name: 'dns-query',
  question: 'what does one answer about a Service cost the DNS server?',
  run: async () => {
    const handle = createDnsHandler({
      informers: {
        informer: <T>(resource: ResourceRef<T>): Informer<T> =>
          [serviceInformer, ...empty].find(
            (informer) => informer.resource.resource === resource.resource,
          ) as unknown as Informer<T>,
      },
      upstreams: () => [],
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
    });
    const packets = Array.from({ length: 500 }, (_, i) =>
      encode({
        type: 'query',
        id: i,
        questions: [{ name: `s${(i * 7919) % count}.default.svc.cluster.local`, type: 'A' }],
      }),
    );
    const ask = async (n: number): Promise<void> => {
      for (let i = 0; i < n; i++) await handle(packets[i % packets.length]!, 'udp', '10.244.0.2');
    };
    const echo = (n: number): void => {
      for (let i = 0; i < n; i++) encode(decode(packets[i % packets.length]!));
    };
    await ask(questions / 4);
    echo(questions / 4);
    const value = await cpuPerOperation(questions, () => ask(questions));
    const floor = await cpuPerOperation(questions, () => echo(questions));
    return [
      {
        what: `A record among ${count} services`,
        value,
        unit: 'µs CPU',
        floor: { what: 'decode and encode the question', value: floor },
        // CoreDNS: 17,000 questions a second for each CPU
        aim: { value: 59 },
      },
    ];
  },
};
