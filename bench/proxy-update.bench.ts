// One Service changed among 10,000: the time until nftables has it.
import type { Service } from '../src/api/generated/types/core-v1.ts';
import type { EndpointSlice } from '../src/api/generated/types/discovery-v1.ts';
import { atOnce } from '../src/base/turns.ts';
import { silentLogger } from '../src/component-base/logger.ts';
import { systemClock } from '../src/component-base/system-clock.ts';
import { linuxPacketFilter } from '../src/os/linux/nft-packet-filter.ts';
import { linuxProcesses } from '../src/os/linux/processes-linux.ts';
import { proxyBackends } from '../src/proxy/backends/registry.ts';
import { desiredRules } from '../src/proxy/desired-rules.ts';
import { HeldRules } from '../src/proxy/held-rules.ts';
import type { Bench, Measurement } from './bench.ts';

const rulesNow = (...of: Parameters<typeof desiredRules>) => atOnce(desiredRules(...of));

const node = { name: 'node-1', zone: undefined, reserved: [] };
const count = 10_000;
const changes = 200;

function service(i: number): Service {
  const clusterIP = `10.${96 + (i >> 16)}.${(i >> 8) & 255}.${i & 255}`;
  return { metadata: { namespace: 'default', name: `s${i}` }, spec: { clusterIP, ports: [{ port: 80 }] } };
}

function slice(i: number, version: number): EndpointSlice {
  const address = (j: number): string => `10.244.${(i * 2 + j) % 250}.${2 + ((i + version) % 250)}`;
  return {
    metadata: { namespace: 'default', name: `s${i}-1` },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [0, 1].map((j) => ({ addresses: [address(j)], nodeName: `node-${j + 1}` })),
  };
}

const quantile = (list: readonly number[], q: number): number =>
  list.toSorted((a, b) => a - b)[Math.floor(q * (list.length - 1))]!;

async function run(): Promise<readonly Measurement[]> {
  const packetFilter = linuxPacketFilter(linuxProcesses);
  try {
    const backend = proxyBackends.nftables({
      packetFilter,
      tables: { keep: () => () => undefined, stop: async () => undefined },
      clusterCIDR: '10.244.0.0/16',
      clock: systemClock,
      inSteps: async (steps) => atOnce(steps),
      log: silentLogger,
    });
    const rules = new HeldRules();
    const started = performance.now();
    for (let i = 1; i <= count; i++) rules.want(`default/s${i}`, rulesNow(service(i), [slice(i, 0)], node));
    atOnce(rules.changes());
    await backend.replace(rules.all());
    const load = performance.now() - started;
    const times: number[] = [];
    for (let k = 1; k <= changes; k++) {
      const i = 1 + ((k * 7919) % count);
      const before = performance.now();
      rules.want(`default/s${i}`, rulesNow(service(i), [slice(i, k)], node));
      await backend.change(atOnce(rules.changes()));
      times.push(performance.now() - before);
    }
    await packetFilter.apply('table ip floor {\nset s { type ipv4_addr\n}\n}\n');
    const floor: number[] = [];
    for (let k = 0; k < changes; k++) {
      const before = performance.now();
      await packetFilter.apply(`add element ip floor s { 10.0.${k >> 8}.${k & 255} }\n`);
      floor.push(performance.now() - before);
    }
    const bare = { what: 'one element of a small set', value: quantile(floor, 0.5) };
    return [
      { what: `load ${count} services, 2 endpoints each`, value: load, unit: 'ms' },
      { what: 'one changed, p50', value: quantile(times, 0.5), unit: 'ms', floor: bare, aim: { value: 10 } },
      { what: 'one changed, p99', value: quantile(times, 0.99), unit: 'ms', floor: bare, aim: { value: 10 } },
    ];
  } finally {
    await packetFilter.close();
  }
}

export const bench: Bench = {
  name: 'proxy-update',
  question: 'how long until one changed Service among 10,000 is in the packet filter?',
  needsBox: true,
  run,
};
