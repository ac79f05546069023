// One tenant does its worst: how long another user's GET waits meanwhile, and what it costs the server.
// BENCH_ONLY=WORDS runs the attacks that are called so.
import { spawn } from 'node:child_process';
import type { ClientHttp2Session } from 'node:http2';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { configmaps, namespaces, resourcequotas, rolebindings } from '../src/api/generated/resources.ts';
import type { Client } from '../src/client/client.ts';
import type { Bench, Measurement } from './bench.ts';
import { accountToken, readerToken } from './harness/account-token.ts';
import { configMap } from './harness/bodies.ts';
import { type Ask, type Connection, overHttp2, session } from './harness/connection.ts';
import type { Target } from './harness/load-job.ts';
import { pipelined } from './harness/pipelined.ts';
import { cpuMicros, memory } from './harness/process-cost.ts';
import { startBenchServer } from './harness/servers.ts';

const tenant = 'tenant';
const maps = `/api/v1/namespaces/${tenant}/configmaps`;
const stored = 50;
const storedBytes = 900_000;
const aimMs = 100;
/** The tenant's connections take as much at once as browsers and kubectl do. */
const window = 4 << 20;

interface Attack {
  readonly what: string;
  /** `open` is one more connection of the tenant's; all are cut when the attack is over. */
  run(open: () => Connection, answers: Answers, strangers: Strangers): Promise<void>;
}
/** Sends so many requests without credentials on each of so many connections, and does not wait for an answer in between. */
type Strangers = (connections: number, requests: number) => Promise<void>;

/** How many of the tenant's requests were answered so far. */
interface Answers {
  all: number;
  refused: number;
}

const many = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const object = (name: string, metadata: object, more: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...metadata }, ...more });
const owners = many(2_000, (i) => ({ apiVersion: 'v1', kind: 'Pod', name: `a${i}`, uid: `u${i}` }));
const keys = (count: number): Record<string, string> =>
  Object.fromEntries(many(count, (k) => [`k${k}`, 'v']));
const bytes = Object.fromEntries(many(9_900, (k) => [`b${k}`, 'AAAA']));
const most = { data: keys(9_900), binaryData: bytes };
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

const restingWatches = 2_000;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** What all watches are told of, and time for them to be. */
async function twentyWrites(send: Connection, name: string): Promise<void> {
  const more = { data: { a: 'x'.repeat(10_000) } };
  for (let i = 0; i < 20; i++)
    await send({
      method: 'POST',
      path: maps,
      body: object(`${name}${i}`, { labels: { seen: 'yes' } }, more),
    });
  await pause(1_000);
}

const lists = (what: string, accept: string, query = ''): Attack => ({
  what: `six LISTs of ${(stored * storedBytes) / 1e6} MB as ${what}`,
  async run(open) {
    await Promise.all(many(6, () => open()({ path: `${maps}${query}`, accept })));
  },
});
const writes = (what: string, asks: (i: number) => Ask): Attack => ({
  what,
  async run(open) {
    await Promise.all(many(6, (i) => open()(asks(i))));
  },
});

const attacks: readonly Attack[] = [
  { what: 'nothing', run: () => pause(2_000) },
  {
    what: 'a ConfigMap with 2,000 owners that are absent, until it is collected',
    async run(open) {
      const send = open();
      const body = object('owned', { ownerReferences: owners });
      await send({ method: 'POST', path: maps, body });
      while ((await send({ path: `${maps}?limit=500&fieldSelector=metadata.name%3Downed` })).bytes > 1_000)
        await pause(250);
    },
  },
  lists('YAML', 'application/yaml'),
  lists('protobuf', 'application/vnd.kubernetes.protobuf'),
  lists('tables with their objects', table, '?includeObject=Object'),
  lists('indented JSON', 'application/json', '?pretty=true'),
  lists('JSON', 'application/json'),
  writes('six creates of 1.6 MB at once, 120,000 labels each (refused)', (i) => ({
    method: 'POST',
    path: maps,
    body: object(`labels${i}`, { labels: keys(120_000) }),
  })),
  writes('six creates at once of the most values that an object may have', (i) => ({
    method: 'POST',
    path: maps,
    body: object(`most${i}`, { labels: keys(9_900), annotations: keys(9_900) }, most),
  })),
  writes('six merge patches of one of these', (i) => ({
    method: 'PATCH',
    path: `${maps}/most0`,
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ metadata: { labels: { k0: `v${i}` } } }),
  })),
  writes('six JSON patches of 9,900 operations of one of these', (i) => ({
    method: 'PATCH',
    path: `${maps}/most0`,
    contentType: 'application/json-patch+json',
    body: JSON.stringify(many(9_900, (k) => ({ op: 'replace', path: `/data/k${k}`, value: `w${i}` }))),
  })),
  writes('six creates with 5,000 managers of fields', (i) => ({
    method: 'POST',
    path: maps,
    body: object(`managed${i}`, {
      managedFields: many(5_000, (m) => ({
        manager: `m${m}`,
        operation: 'Update',
        apiVersion: 'v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { [`f:k${m}`]: {} } },
      })),
    }),
  })),
  {
    what: '400 LISTs at once with a selector of 500 terms',
    async run(open) {
      const selector = many(500, (i) => `!absent${i}`).join(',');
      const path = `${maps}?limit=1&labelSelector=${encodeURIComponent(selector)}`;
      const senders = many(8, open);
      // What the server refuses is the tenant's own trouble.
      await Promise.all(many(400, (i) => senders[i % 8]!({ path }).catch(() => undefined)));
    },
  },
  {
    what: '50 connections of a stranger with 430 requests each, sent in one go',
    run: (_open, _answers, strangers) => strangers(50, 430),
  },
  {
    what: '20 connections of a stranger with 5,000 requests each, sent in one go',
    run: (_open, _answers, strangers) => strangers(20, 5_000),
  },
  {
    what: '5,000 watches opened, and 20 writes that they see',
    async run(open) {
      const senders = many(50, open);
      for (let i = 0; i < 5_000; i++)
        void senders[i % 50]!({ path: `${maps}?watch=true` }).catch(() => undefined);
      await twentyWrites(open(), 'seen');
    },
  },
  {
    what: `${restingWatches} watches of what comes, asked for until all are there, and 20 writes that they see`,
    async run(open, answers) {
      const senders = many(50, open);
      for (let missing = restingWatches; missing > 0; ) {
        const { all, refused } = answers;
        for (let i = 0; i < missing; i++)
          void senders[i % 50]!({ path: `${maps}?watch=true&labelSelector=seen` }).catch(() => undefined);
        while (answers.all < all + missing) await pause(100);
        missing = answers.refused - refused;
        if (missing > 0) await pause(1_000);
      }
      await twentyWrites(open(), 'resting');
    },
  },
  {
    what: 'twenty jobs of two billion pods against a quota of ten',
    async run(open) {
      const send = open();
      const job = (i: number) => ({
        metadata: { name: `job${i}` },
        spec: {
          parallelism: 2_147_483_647,
          template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } },
        },
      });
      for (let i = 0; i < 20; i++)
        await send({
          method: 'POST',
          path: `/apis/batch/v1/namespaces/${tenant}/jobs`,
          body: JSON.stringify(job(i)),
        });
      await pause(5_000);
    },
  },
];

interface Reading {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/** Another user reads while `attack` lasts. */
async function readWhile(target: Target, attack: () => Promise<void>): Promise<Reading> {
  const job = JSON.stringify({ target, path: '/api/v1/namespaces/default/configmaps/small' });
  const program = fileURLToPath(new URL('harness/waiting-reader.ts', import.meta.url));
  const reader = spawn(process.execPath, [program, job], { stdio: ['pipe', 'pipe', 'inherit'] });
  const output = text(reader.stdout);
  await new Promise((resolve) => reader.stdout.once('data', resolve));
  await attack();
  reader.stdin.end();
  return JSON.parse((await output).replace('ready\n', '')) as Reading;
}

async function tenantToken(client: Client): Promise<string> {
  const key = { namespace: tenant, name: 'robot' };
  await client.create(namespaces, { metadata: { name: tenant }, spec: {} });
  await client.create(resourcequotas, {
    metadata: { namespace: tenant, name: 'ten' },
    spec: { hard: { pods: '10' } },
  });
  await client.create(rolebindings, {
    metadata: { namespace: tenant, name: 'robot' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
    subjects: [{ kind: 'ServiceAccount', ...key }],
  });
  return accountToken(client, key);
}

async function measure(attack: Attack, reader: Target, robot: Target): Promise<Measurement[]> {
  const { pid } = reader;
  const sessions: ClientHttp2Session[] = [];
  const answers: Answers = { all: 0, refused: 0 };
  const answered = (status: number): void => {
    answers.all++;
    if (status === 429) answers.refused++;
  };
  const open = (): Connection => {
    const connected = session(robot, window);
    connected.once('connect', () => connected.setLocalWindowSize(window));
    connected.on('error', () => undefined);
    sessions.push(connected);
    return overHttp2(connected, robot, answered);
  };
  const strangers: Strangers = (connections, requests) => pipelined(robot, connections, requests, answered);
  const before = memory(pid).rss;
  const cpu = cpuMicros(pid);
  let peak = before;
  const watching = setInterval(() => {
    peak = Math.max(peak, memory(pid).rss);
  }, 50);
  const reading = await readWhile(reader, () => attack.run(open, answers, strangers));
  const used = (cpuMicros(pid) - cpu) / 1e6;
  clearInterval(watching);
  for (const session of sessions) session.destroy();
  await pause(3_000);
  return [
    {
      what: `${attack.what}: a GET of another user, p99 of ${reading.count}`,
      value: reading.p99Ms,
      unit: 'ms',
      aim: { value: aimMs },
    },
    { what: '… longest', value: reading.maxMs, unit: 'ms' },
    { what: `… refused (429) of ${answers.all} answers`, value: answers.refused, unit: '' },
    { what: '… CPU', value: used, unit: 's' },
    { what: '… memory before', value: before, unit: 'MB' },
    { what: '… at most', value: peak, unit: 'MB' },
    { what: '… 3 s afterwards', value: memory(pid).rss, unit: 'MB' },
  ];
}

async function run(): Promise<readonly Measurement[]> {
  const server = await startBenchServer();
  try {
    const { cert: _cert, key: _key, ...anonymous } = server.target;
    await server.client.create(configmaps, JSON.parse(configMap('small', 850)));
    const reader = { ...anonymous, token: await readerToken(server.client) };
    const robot = { ...anonymous, token: await tenantToken(server.client) };
    const line = `${'x y: z '.repeat(14)}\n`;
    const data = Object.fromEntries(many(9, (i) => [`part${i}`, line.repeat(storedBytes / 9 / line.length)]));
    for (let i = 0; i < stored; i++)
      await server.client.create(configmaps, { metadata: { namespace: tenant, name: `c${i}` }, data });
    const rows: Measurement[] = [];
    const chosen = attacks.filter(({ what }) => what.includes(process.env.BENCH_ONLY ?? ''));
    for (const attack of chosen) rows.push(...(await measure(attack, reader, robot)));
    return rows;
  } finally {
    await server.stop();
  }
}

export const bench: Bench = {
  name: 'tenants',
  question: 'how long does another user wait while a tenant does its worst, and what does it cost?',
  run,
};
