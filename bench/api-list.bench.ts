// A LIST of 10,000 pods: bytes from the store to the socket.
import { serviceaccounts } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { cpuPerRequest } from './harness/compare.ts';
import { fillWithPods } from './harness/fill.ts';
import type { Requests } from './harness/load-job.ts';
import { apiServerAlone, load, startBenchServer, startFloorServer } from './harness/servers.ts';

const work: Requests = {
  kind: 'requests',
  protocol: 'h2',
  connections: 2,
  total: 16,
  method: 'GET',
  path: '/api/v1/pods',
};

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer({ disable: apiServerAlone });
  try {
    await server.client.create(serviceaccounts, { metadata: { name: 'default', namespace: 'default' } });
    await fillWithPods(server.target, 10_000);
    const one = await load(server.target, { ...work, total: 2 });
    const floor = await startFloorServer(server, Buffer.alloc(one.bytes / 2, 'x'));
    const row = (protocol: 'h2' | 'http/1.1', total: number): Promise<Measurement> =>
      cpuPerRequest({
        what: `LIST of 10,000 pods, ${(one.bytes / 2 / 1e6).toFixed(1)} MB, ${protocol}`,
        aim: 70,
        unit: 'ms',
        server: server.target,
        work: { ...work, protocol, total },
        floor: {
          what: 'the same number of bytes',
          target: floor.target(protocol),
          work: { ...work, protocol, total },
        },
      });
    const rows = [await row('h2', work.total), await row('http/1.1', work.total)];
    await floor.stop();
    return rows;
  } finally {
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'api-list',
  question: 'what CPU does a LIST of 10,000 pods cost the server?',
  run,
};
