// Durable writes over TLS: creates and patches, validated, defaulted, their ownership tracked.
import { configmaps, serviceaccounts } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { configMap, pod } from './harness/bodies.ts';
import { cpuPerRequest } from './harness/compare.ts';
import type { Requests } from './harness/load-job.ts';
import { apiServerAlone, startBenchServer, startFloorServer } from './harness/servers.ts';

const collection = '/api/v1/namespaces/default';
const objects = 256;

const create = (resource: string, body: string): Requests => ({
  kind: 'requests',
  protocol: 'h2',
  connections: 32,
  total: 4_000,
  method: 'POST',
  path: `${collection}/${resource}`,
  contentType: 'application/json',
  body,
});

/** Values follow the number of the request: every patch changes its object. */
const patch = (contentType: string, query: string, body: object): Requests => ({
  kind: 'requests',
  protocol: 'h2',
  connections: 16,
  total: 4_000,
  method: 'PATCH',
  path: `${collection}/configmaps/patched-{i}${query}`,
  contentType,
  body: JSON.stringify(body),
  names: objects,
});

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer({ disable: apiServerAlone });
  const floor = await startFloorServer(server, Buffer.alloc(0));
  try {
    await server.client.create(serviceaccounts, { metadata: { name: 'default', namespace: 'default' } });
    for (let i = 0; i < objects; i++) {
      await server.client.create(configmaps, JSON.parse(configMap(`patched-${i}`)));
    }
    const row = (what: string, aim: number, work: Requests): Promise<Measurement> =>
      cpuPerRequest({
        what,
        aim,
        server: server.target,
        work,
        floor: { what: 'parse, stringify, fdatasync', target: floor.target('h2'), work },
      });
    const rows = [
      await row('CREATE of a ConfigMap', 200, create('configmaps', configMap('made-{i}'))),
      await row('CREATE of a pod', 400, create('pods', pod('made-{i}'))),
      await row(
        'PATCH, merge',
        300,
        patch('application/merge-patch+json', '', { data: { second: 'value {i}' } }),
      ),
      await row(
        'PATCH, server-side apply',
        400,
        patch('application/apply-patch+yaml', '?fieldManager=bench&force=true', {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          data: { first: 'x'.repeat(500), second: 'value {i}' },
        }),
      ),
    ];
    return rows;
  } finally {
    await floor.stop();
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'api-write',
  question: 'what CPU does a durable write cost the server over TLS?',
  run,
};
