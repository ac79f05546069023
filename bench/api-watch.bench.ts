// One event to 1,000 watchers on HTTP/2.
import { namespaces } from '../src/api/generated/resources.ts';
import type { Namespace } from '../src/api/generated/types/core-v1.ts';
import type { Bench, Measurement } from './bench.ts';
import { configMap } from './harness/bodies.ts';
import type { FanOut, LoadResult, Target } from './harness/load-job.ts';
import { load, startBenchServer, startFloorServer } from './harness/servers.ts';

const rounds = 3;

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer({ alone: true });
  const floor = await startFloorServer(server, Buffer.alloc(0));
  const round = (target: Target, name: string): Promise<LoadResult> => {
    const path = `/api/v1/namespaces/${name}/configmaps`;
    const work: FanOut = {
      kind: 'fan-out',
      connections: 20,
      watchersPerConnection: 50,
      events: 300,
      watchPath: `${path}?watch=1`,
      createPath: path,
      body: configMap('event-{i}', 650, name),
    };
    return load(target, work);
  };
  try {
    const costs: number[] = [];
    const bare: number[] = [];
    for (let i = 0; i < rounds; i++) {
      await server.client.create(namespaces, { metadata: { name: `round-${i}` } } as Namespace);
      const made = await round(server.target, `round-${i}`);
      costs.push(made.cpuMicros / made.count);
      const least = await round(floor.target('h2'), `round-${i}`);
      bare.push(least.cpuMicros / least.count);
    }
    return [
      {
        what: '1 KB event to 1,000 watchers, 50 a connection',
        value: Math.min(...costs),
        unit: 'µs a delivery',
        floor: { what: 'write to each stream', value: Math.min(...bare) },
        aim: { value: 4 },
      },
    ];
  } finally {
    await floor.stop();
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'api-watch',
  question: 'what CPU does the delivery of an event to a watcher cost the server?',
  run,
};
