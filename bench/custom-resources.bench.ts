// Definitions of custom resources, each a group of its own and as large as those of well-known projects.
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { serviceaccounts } from '../src/api/generated/resources.ts';
import type { Bench, Measurement } from './bench.ts';
import { quantile } from './bench.ts';
import { pod } from './harness/bodies.ts';
import { cpuPerRequest } from './harness/compare.ts';
import { ruledDefinition, ruledSpec } from './harness/definitions.ts';
import type { Requests } from './harness/load-job.ts';
import { cpuMicros, memory } from './harness/process-cost.ts';
import { apiServerAlone, type BenchServer, load, scratch, startBenchServer } from './harness/servers.ts';

const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const few = 200;
const many = 1_000;
const more = 50;
const settleMs = 3_000;
const mostLooks = 60;
/** Of a second: 4 %. */
const restMicros = 40_000;

/** Some 20 KB: nested objects, lists, texts. */
function definition(): string {
  const leaf = {
    type: 'string',
    description: 'What this field is for, in as many words as one usually finds.',
  };
  const fields = (count: number, of: object): object =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`field${i}`, of]));
  const part = { type: 'object', properties: fields(10, leaf) };
  const spec = {
    type: 'object',
    properties: {
      ...fields(12, part),
      list: { type: 'array', items: part },
      size: { type: 'integer', default: 1 },
    },
  };
  return JSON.stringify({
    metadata: { name: 'things.group-{i}.example.com' },
    spec: {
      group: 'group-{i}.example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status: part } } },
          subresources: { status: {} },
        },
      ],
    },
  });
}

/** One create of an object with rules beside one of a pod, API server and store alone. */
async function createRuled(): Promise<Measurement> {
  const server = await startBenchServer({ disable: apiServerAlone });
  try {
    await server.client.create(serviceaccounts, { metadata: { name: 'default', namespace: 'default' } });
    await server.client.raw({ method: 'POST', path, body: ruledDefinition() });
    await atRest(server);
    const creating = (of: string, body: string): Requests => ({
      kind: 'requests',
      protocol: 'h2',
      connections: 16,
      total: 1_000,
      method: 'POST',
      path: of,
      contentType: 'application/json',
      body,
    });
    return await cpuPerRequest({
      what: 'CREATE of an object that keeps 19 rules',
      aim: 400,
      rounds: 5,
      server: server.target,
      work: creating(
        '/apis/example.com/v1/namespaces/default/ruled',
        JSON.stringify({
          apiVersion: 'example.com/v1',
          kind: 'Ruled',
          metadata: { name: 'made-{i}' },
          spec: ruledSpec(),
        }),
      ),
      floor: {
        what: 'a pod, 3 KB',
        target: server.target,
        work: creating('/api/v1/namespaces/default/pods', pod('made-{i}')),
      },
    });
  } finally {
    await server.stop();
  }
}

/**
 * Until it does next to nothing for two seconds: after a thousand definitions there is work left for many, which would be put down to
 * those that come next. Not for ever: on a busy machine a server that rests takes some percent, too.
 */
async function atRest(server: BenchServer): Promise<void> {
  let last = cpuMicros(server.target.pid);
  for (let looks = 0, quiet = 0; looks < mostLooks && quiet < 2; looks++) {
    await delay(1_000);
    const now = cpuMicros(server.target.pid);
    quiet = now - last < restMicros ? quiet + 1 : 0;
    last = now;
  }
}

/** CPU of one definition, everything that follows of it included. */
async function define(server: BenchServer, from: number, total: number): Promise<number> {
  await atRest(server);
  const before = cpuMicros(server.target.pid);
  await load(server.target, {
    kind: 'requests',
    protocol: 'h2',
    connections: 4,
    perSecond: 100,
    from,
    total,
    method: 'POST',
    path,
    contentType: 'application/json',
    body: definition(),
  });
  await delay(settleMs);
  await atRest(server);
  return (cpuMicros(server.target.pid) - before) / total / 1_000;
}

/** Milliseconds of one answer. */
async function ask(server: BenchServer, asked: string): Promise<number> {
  const from = performance.now();
  await server.client.raw({ method: 'GET', path: asked });
  return performance.now() - from;
}

async function startAgain(directory: string): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 5; i++) {
    const server = await startBenchServer({ directory });
    times.push(server.readyMs);
    await server.stop();
  }
  return quantile(times, 0.5);
}

async function run(): Promise<readonly Measurement[]> {
  const directory = scratch();
  let server = await startBenchServer({ directory });
  try {
    const first = await define(server, 0, more);
    await define(server, more, few - more);
    await server.stop();
    const start = await startAgain(directory);
    server = await startBenchServer({ directory });
    await define(server, few, many - few);
    const rss = memory(server.target.pid).rss;
    const last = await define(server, many, more);
    const index = await ask(server, '/openapi/v3');
    const groups = await ask(server, '/apis');
    await ask(server, '/openapi/v2');
    await define(server, many + more, 1);
    const again = await ask(server, '/openapi/v2');
    return [
      {
        what: `CPU of one more definition beside ${many}`,
        value: last,
        unit: 'ms',
        floor: { what: 'the first ones', value: first },
        aim: { value: 30 },
      },
      await createRuled(),
      { what: `${many} definitions, RSS`, value: rss, unit: 'MB', aim: { value: 350 } },
      { what: `start with ${few} definitions, p50`, value: start, unit: 'ms', aim: { value: 700 } },
      { what: 'GET /openapi/v3 after a change', value: index, unit: 'ms' },
      { what: 'GET /openapi/v2 after a change', value: again, unit: 'ms' },
      { what: 'GET /apis', value: groups, unit: 'ms' },
    ];
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

export const bench: Bench = {
  name: 'custom-resources',
  question: 'what do a thousand CustomResourceDefinitions cost?',
  run,
};
