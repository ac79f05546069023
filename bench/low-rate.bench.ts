// What an operation costs at the rate of a real cluster: few at a time, each of which wakes the server up.
import { configmaps, serviceaccounts } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { configMap, largePod } from './harness/bodies.ts';
import { type Contest, cpuPerRequest } from './harness/compare.ts';
import type { Requests } from './harness/load-job.ts';
import { memory } from './harness/process-cost.ts';
import { load, startBenchServer, startFloorServer } from './harness/servers.ts';

const collection = '/api/v1/namespaces/default';
const patched = 256;
const storedPods = 5_000;

/** As client-go and kubectl are not, but most other clients are: HTTP/1.1, one request after the other on a connection. */
const calm = {
  kind: 'requests',
  protocol: 'http/1.1',
  connections: 8,
  perSecond: 400,
  total: 1_600,
} as const;

const create = (resource: string, body: string): Requests => ({
  ...calm,
  connections: 16,
  method: 'POST',
  path: `${collection}/${resource}`,
  contentType: 'application/json',
  body,
});

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer({ disable: ['dns', 'scheduler'] });
  try {
    const stored = await server.client.create(configmaps, JSON.parse(configMap('small', 850)));
    for (let i = 0; i < patched; i++)
      await server.client.create(configmaps, JSON.parse(configMap(`patched-${i}`)));
    await accountExists(server.client);
    const floor = await startFloorServer(server, Buffer.from(JSON.stringify(stored)));
    const row = (what: string, aim: number, bare: string, work: Requests): Promise<Measurement> => {
      const target = floor.target('http/1.1');
      const contest: Contest = { what, aim, rounds: 5, server: server.target, work };
      return cpuPerRequest({ ...contest, floor: { what: bare, target, work } });
    };
    const durable = 'parse, stringify, fdatasync';
    const rows = [
      await row('GET of 1.3 KB', 190, 'bare Node', {
        ...calm,
        method: 'GET',
        path: `${collection}/configmaps/small`,
      }),
      await row('CREATE of a ConfigMap', 364, durable, create('configmaps', configMap('made-{i}', 600))),
      await row('PATCH, merge', 564, durable, {
        ...calm,
        method: 'PATCH',
        path: `${collection}/configmaps/patched-{i}`,
        names: patched,
        contentType: 'application/merge-patch+json',
        body: JSON.stringify({ data: { second: 'value {i}' } }),
      }),
      await row('CREATE of a pod, 6.4 KB', 828, durable, create('pods', largePod('made-{i}'))),
    ];
    await floor.stop();
    const { method: _method, ...pods } = create('pods', largePod('more-{i}'));
    await load(server.target, { ...pods, method: 'POST', perSecond: 2_000, total: storedPods });
    const list = {
      ...calm,
      connections: 2,
      perSecond: 1,
      total: 6,
      method: 'GET',
      path: '/api/v1/pods',
    } as const;
    await load(server.target, list);
    rows.push({
      what: `RSS with ${storedPods + 5 * calm.total} pods after LISTs`,
      value: memory(server.target.pid).rss,
      unit: 'MB',
    });
    return rows;
  } finally {
    await server.stop();
  }
}

/** Pods need the account that a controller makes. */
async function accountExists(client: Awaited<ReturnType<typeof startBenchServer>>['client']): Promise<void> {
  while ((await client.list(serviceaccounts, { namespace: 'default' })).items.length === 0)
    await new Promise((resolve) => setTimeout(resolve, 50));
}

export const bench: Bench = {
  name: 'low-rate',
  question:
    'what CPU does a request cost the server at 400 a second over HTTP/1.1, durable and with controllers?',
  run,
};
