// Pods that fit nowhere, for want of any node: what they cost more than pods of which the scheduler takes no notice, then and at rest.
import { setTimeout as delay } from 'node:timers/promises';
import { pods, serviceaccounts } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { pod } from './harness/bodies.ts';
import { cpuMicros, memory } from './harness/process-cost.ts';
import { type BenchServer, load, startBenchServer } from './harness/servers.ts';

const podCount = 10_000;
/** Controllers and the collector still work right after the last create. */
const settleMs = 8_000;
const restMs = 8_000;

/** CPU of the server for each pod, from its create until all components are done with it. */
async function createPods(server: BenchServer, name: string, spec: object): Promise<number> {
  const before = cpuMicros(server.target.pid);
  await load(server.target, {
    kind: 'requests',
    protocol: 'h2',
    connections: 16,
    total: podCount,
    method: 'POST',
    path: '/api/v1/namespaces/default/pods',
    contentType: 'application/json',
    body: pod(`${name}-{i}`, spec),
  });
  await delay(settleMs);
  return (cpuMicros(server.target.pid) - before) / podCount;
}

async function refused(server: BenchServer): Promise<number> {
  const { items } = await server.client.list(pods, { namespace: 'default' });
  return items.filter(({ status }) => status?.conditions?.[0]?.reason === 'Unschedulable').length;
}

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer({ disable: ['dns'] });
  try {
    // Pods need the account that a controller makes.
    while ((await server.client.list(serviceaccounts, { namespace: 'default' })).items.length === 0)
      await delay(50);
    const floor = await createPods(server, 'alone', { schedulerName: 'nobody' });
    const before = memory(server.target.pid).rss;
    const value = await createPods(server, 'nowhere', {});
    const cpu = cpuMicros(server.target.pid);
    await delay(restMs);
    const atRest = (cpuMicros(server.target.pid) - cpu) / restMs / 10;
    const rss = memory(server.target.pid).rss;
    const told = await refused(server);
    if (told !== podCount) throw new Error(`${told} of ${podCount} pods say why they have no node`);
    return [
      {
        what: 'CPU of a pod that fits nowhere',
        value,
        unit: 'µs',
        floor: { what: 'one of another scheduler', value: floor },
      },
      { what: 'the scheduler’s part', value: value - floor, unit: 'µs', aim: { value: 600 } },
      { what: `at rest with ${podCount} of them, of a core`, value: atRest, unit: '%', aim: { value: 1 } },
      { what: `${podCount} of them, RSS`, value: rss - before, unit: 'MB', aim: { value: 300 } },
    ];
  } finally {
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'pods-nowhere',
  question: 'what do pods cost that fit nowhere?',
  run,
};
