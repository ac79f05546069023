// A GET of a small object: authenticated, authorized, from the encoded bytes.
import { configmaps } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { readerToken } from './harness/account-token.ts';
import { configMap } from './harness/bodies.ts';
import { cpuPerRequest } from './harness/compare.ts';
import type { Requests } from './harness/load-job.ts';
import { apiServerAlone, load, startBenchServer, startFloorServer } from './harness/servers.ts';

const path = '/api/v1/namespaces/default/configmaps/small';

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer({ disable: apiServerAlone });
  try {
    const stored = await server.client.create(configmaps, JSON.parse(configMap('small', 850)));
    const floor = await startFloorServer(server, Buffer.from(JSON.stringify(stored)));
    const { cert: _cert, key: _key, ...anonymous } = server.target;
    const holder = { ...anonymous, token: await readerToken(server.client) };
    const rows: Measurement[] = [];
    for (const protocol of ['h2', 'http/1.1'] as const) {
      const work: Requests = {
        kind: 'requests',
        protocol,
        connections: 32,
        total: 20_000,
        method: 'GET',
        path,
      };
      await load(server.target, { ...work, total: 5_000 });
      for (const [who, target] of [
        ['client certificate', server.target],
        ['token and RBAC', holder],
      ] as const) {
        rows.push(
          await cpuPerRequest({
            what: `GET of ${JSON.stringify(stored).length} bytes, ${protocol}, ${who}`,
            aim: 60,
            server: target,
            work,
            floor: { what: 'bare server', target: floor.target(protocol), work },
          }),
        );
      }
    }
    await floor.stop();
    return rows;
  } finally {
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'api-get',
  question: 'what CPU does a GET cost the server, 32 connections over TLS?',
  run,
};
