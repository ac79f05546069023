// Nodes that join, evenly: each is created, given its block of addresses, and freed of the taint of those that are not ready.
import { setTimeout as delay } from 'node:timers/promises';
import { nodes } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { configMap, node } from './harness/bodies.ts';
import { cpuMicros } from './harness/process-cost.ts';
import { type BenchServer, load, startBenchServer } from './harness/servers.ts';

const count = 250;
const rounds = 3;
/** Controllers follow. */
const settleMs = 1_500;
/** Of the object that is created: a Node's own bytes. */
const sameBytes = node('node-{i}').length - configMap('floor-{i}', 0).length;

async function cpuOfCreates(server: BenchServer, path: string, body: string, from: number): Promise<number> {
  const before = cpuMicros(server.target.pid);
  await load(server.target, {
    kind: 'requests',
    protocol: 'http/1.1',
    connections: 8,
    perSecond: 50,
    total: count,
    from,
    method: 'POST',
    path,
    contentType: 'application/json',
    body,
  });
  await delay(settleMs);
  return (cpuMicros(server.target.pid) - before) / count;
}

async function joined(server: BenchServer): Promise<number> {
  const { items } = await server.client.list(nodes);
  return items.filter(({ spec }) => spec?.podCIDR && (spec.taints ?? []).length === 0).length;
}

async function run(): Promise<readonly Measurement[]> {
  // Room for a block each.
  const flags = ['--cluster-cidr', '10.0.0.0/10', '--service-cluster-ip-range', '10.96.0.0/16'];
  const server = await startBenchServer({ disable: ['dns'], flags });
  try {
    let [value, floor] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let round = 0; round < rounds; round++) {
      const from = round * count;
      const configMaps = '/api/v1/namespaces/default/configmaps';
      floor = Math.min(
        floor,
        await cpuOfCreates(server, configMaps, configMap('floor-{i}', sameBytes), from),
      );
      value = Math.min(value, await cpuOfCreates(server, '/api/v1/nodes', node('node-{i}'), from));
    }
    const found = await joined(server);
    if (found !== rounds * count) throw new Error(`${found} of ${rounds * count} nodes have joined`);
    return [
      {
        what: 'CPU of a Node that registers, 50 a second',
        value,
        unit: 'µs',
        floor: { what: 'CREATE of a ConfigMap of that size at that rate', value: floor },
        aim: { value: 1_000 },
      },
    ];
  } finally {
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'nodes-register',
  question: 'what does a Node cost that joins, whatever their number?',
  run,
};
