// One event to 1,000 watchers on HTTP/2.
import { namespaces } from '../src/api/generated/resources.ts';
import type { Namespace } from '../src/api/generated/types/core-v1.ts';
import type { Bench, Measurement } from './bench.ts';
import { configMap } from './harness/bodies.ts';
import type { FanOut, Target } from './harness/load-job.ts';
import { apiServerAlone, load, startBenchServer, startFloorServer } from './harness/servers.ts';

const rounds = 3;

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer({ disable: apiServerAlone });
  const floor = await startFloorServer(server, Buffer.alloc(0));
  const round = async (target: Target, name: string, creators: number): Promise<number> => {
    const path = `/api/v1/namespaces/${name}/configmaps`;
    const work: FanOut = {
      kind: 'fan-out',
      connections: 20,
      watchersPerConnection: 50,
      events: 300,
      creators,
      watchPath: `${path}?watch=1`,
      createPath: path,
      body: configMap('event-{i}', 650, name),
    };
    const { cpuMicros, count } = await load(target, work);
    return cpuMicros / count;
  };
  const contest = async (creators: number): Promise<Measurement> => {
    let value = Number.POSITIVE_INFINITY;
    let bare = Number.POSITIVE_INFINITY;
    for (let i = 0; i < rounds; i++) {
      const name = `round-${creators}-${i}`;
      await server.client.create(namespaces, { metadata: { name } } as Namespace);
      value = Math.min(value, await round(server.target, name, creators));
      bare = Math.min(bare, await round(floor.target('h2'), name, creators));
    }
    return {
      what: `1 KB event to 1,000 watchers, 50 a connection; creates under way: ${creators}`,
      value,
      unit: 'µs a delivery',
      floor: { what: 'write to each stream', value: bare },
      aim: { value: 4 },
    };
  };
  try {
    return [await contest(1), await contest(16)];
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
