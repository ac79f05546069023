// etcd's nine guarantees of a watch, of a real server that is killed and stopped, whose history is forgotten, whose connections are cut.
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configmaps } from '../../src/api/generated/resources.ts';
import { isStatusError } from '../../src/apimachinery/errors.ts';
import type { Client } from '../../src/client/client.ts';
import { systemRandom } from '../../src/component-base/system-random.ts';
import { DurableStore } from '../../src/storage/sqlite/durable-store.ts';
import { seeded } from '../../src/storage/testing/store-model.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { type Connection, type ServerChild, startServerChild } from '../harness/server-child.ts';
import { brokenGuarantees, type Change, ChangeLog } from './checkers/watch.ts';
import { RecordedWatcher, type Selection, type Stored, stateOf } from './recorded-watcher.ts';

const rounds = Number(process.env.PORTHOLE_WATCH_ROUNDS ?? 3);
const namespace = 'default';
const names = Array.from({ length: 16 }, (_, i) => `k${i}`);
const watcherCount = 50;
const writerCount = 6;
const connectionCount = 10;
/** More than the 64 MB of history that a server holds in memory. */
const bulkWrites = 52;
const bulk = 'x'.repeat(700_000);

const selections: readonly Selection[] = [
  { query: '', selects: () => true },
  { query: 'labelSelector=group%3Dred', selects: (_, { group }) => group === 'red' },
  { query: 'labelSelector=group%21%3Dred', selects: (_, { group }) => group !== 'red' },
  { query: 'labelSelector=group+in+(red,blue)', selects: (_, { group }) => ['red', 'blue'].includes(group) },
  { query: 'fieldSelector=metadata.name%3Dk3', selects: (key) => key === 'k3' },
  {
    query: 'fieldSelector=metadata.name%21%3Dk3&labelSelector=group%3Dblue',
    selects: (key, { group }) => key !== 'k3' && group === 'blue',
  },
];
const watchers = Array.from(
  { length: watcherCount },
  (_, i) =>
    new RecordedWatcher(`/api/v1/namespaces/${namespace}/configmaps`, selections[i % selections.length]!),
);
const log = new Map<number, Change>();
const acknowledged = new Map<number, string>();
let values = 0;
let cuts = 0;
let lookedBack = 0;

/** What the store has on disk, read from a copy: nothing that served the watches takes part. */
function readLog(dataDir: string): void {
  const copy = join(dataDir, 'copy');
  cpSync(join(dataDir, 'db'), copy, { recursive: true });
  const store = new DurableStore(copy, systemRandom);
  const present = new Map([...store.rows()].map(({ revision, value }) => [revision, value]));
  const prefix = `/registry/core/configmaps/${namespace}/`;
  for (const row of store.history(store.floor())) {
    if (!row.key.startsWith(prefix)) continue;
    const bytes = row.value ?? present.get(row.revision);
    const state = row.put ? stateOf(JSON.parse(Buffer.from(bytes!).toString()) as Stored) : null;
    const change = { revision: row.revision, key: row.key.slice(prefix.length), state };
    assert.deepEqual(log.get(row.revision) ?? change, change, `revision ${row.revision} was given out twice`);
    log.set(row.revision, change);
  }
  store.close();
  rmSync(copy, { recursive: true });
}

/** What a server that is being killed says is no answer. */
function ignoreRefusals(error: unknown): void {
  if (error instanceof assert.AssertionError) throw error;
  if (isStatusError(error) && ![404, 409].includes(error.code) && error.code < 500) throw error;
}

async function writeOnce(client: Client, random: (below: number) => number): Promise<void> {
  const name = names[random(names.length)]!;
  const value = `v${values++}`;
  const labels = [{ group: 'red' }, { group: 'blue' }, {}][random(3)]!;
  const object = { metadata: { name, namespace, labels }, data: { v: value } };
  const what = random(30);
  if (what === 0) await client.deleteCollection(configmaps, { namespace, labelSelector: 'group=blue' });
  else if (what < 6) await client.delete(configmaps, { name, namespace });
  else {
    const patch = {
      type: 'merge',
      body: { metadata: { labels: { group: labels.group ?? null } }, data: { v: value } },
    } as const;
    const written =
      what < 14
        ? await client.create(configmaps, object)
        : await client.patch(configmaps, { name, namespace }, patch);
    acknowledged.set(Number(written.metadata!.resourceVersion), value);
  }
}

async function write(client: Client, random: (below: number) => number, going: () => boolean): Promise<void> {
  while (going()) await writeOnce(client, random).catch(ignoreRefusals);
}

/** One watcher while the server lives: watches, is cut, comes back, looks back. */
async function follow(
  watcher: RecordedWatcher,
  connection: () => Connection,
  random: (below: number) => number,
  going: () => boolean,
): Promise<void> {
  while (going()) {
    try {
      const { transport } = connection();
      const frames = 1 + random(random(3) === 0 ? 5 : 80);
      if (watcher.at === 0 && random(2) === 0) await watcher.begin(transport, frames);
      else if (watcher.at === 0) await watcher.list(transport);
      const back = random(5) === 0;
      if (back) lookedBack++;
      const options = { frames, timeoutSeconds: 1 + random(2), bookmarks: random(3) > 0 };
      const kept = await watcher.watch(transport, {
        ...options,
        ...(back ? { from: 1 + random(watcher.at) } : {}),
      });
      // Whoever came too late begins anew.
      if (!kept && !back) watcher.at = 0;
    } catch (error) {
      ignoreRefusals(error);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

/** Objects so large that the older history does not stay in memory; nobody here watches their namespace. */
async function overflow(client: Client): Promise<void> {
  const metadata = { name: 'bulk', namespace: 'kube-system' };
  await client.create(configmaps, { metadata, data: { v: 'bulk' } });
  for (let i = 0; i < bulkWrites; i++)
    await client.patch(configmaps, metadata, { type: 'merge', body: { data: { v: `bulk-${i}`, bulk } } });
  await client.delete(configmaps, metadata);
}

async function round(server: ServerChild, seed: number, until: number, overflows: boolean): Promise<void> {
  let going = true;
  const connections = await Promise.all(Array.from({ length: connectionCount }, () => server.connect()));
  const own = await Promise.all(Array.from({ length: writerCount }, () => server.connect()));
  const random = seeded(seed);
  const at = (): boolean => going;
  const working = [
    ...own.map(({ client }, i) => write(client, seeded(seed * 100 + i), at)),
    ...watchers.map((watcher, i) =>
      follow(watcher, () => connections[i % connectionCount]!, seeded(seed * 1000 + i), at),
    ),
  ];
  const failed = Promise.all(working);
  const target = acknowledged.size + until;
  const progress = async (): Promise<void> => {
    for (let next = acknowledged.size + 100; next < target; next += 100) {
      await eventually(() => assert.ok(acknowledged.size >= next), { timeoutMs: 60_000, everyMs: 5 });
      const which = random(connectionCount);
      const broken = connections[which]!;
      connections[which] = await server.connect();
      await broken.close();
      cuts++;
    }
    if (overflows) await overflow(own[0]!.client);
    server.signal(seed % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
    going = false;
  };
  await Promise.race([progress(), failed]);
  await server.ended;
  await Promise.all([...connections, ...own].map((one) => one.close()));
  await failed;
}

/** What the last server tells each of them, from where it was up to the end. */
async function finish(server: ServerChild, watcher: RecordedWatcher, end: number): Promise<void> {
  const { transport, close } = await server.connect();
  if (watcher.at === 0) await watcher.list(transport);
  await eventually(
    async () => {
      const kept = await watcher.watch(transport, {
        frames: Number.POSITIVE_INFINITY,
        timeoutSeconds: 1,
        bookmarks: true,
      });
      if (!kept) await watcher.list(transport);
      assert.ok(watcher.at >= end, `it is at ${watcher.at}`);
    },
    { everyMs: 1 },
  );
  await close();
}

test('etcd’s nine guarantees of watches over kills, restarts, forgotten history, cut connections, bookmarks and selectors', async (context) => {
  const scratch = scratchDirectory('watches');
  context.after(() => scratch.remove());
  const dataDir = scratch.path;
  let server = await startServerChild({ dataDir });
  context.after(() => server.kill());
  for (let i = 0; i < rounds; i++) {
    await round(server, i + 1, 400, i % 2 === 1);
    readLog(dataDir);
    server = await startServerChild({ dataDir });
  }
  const { client, close } = await server.connect();
  const end = await client.create(configmaps, { metadata: { name: 'end', namespace }, data: { v: 'end' } });
  const last = Number(end.metadata!.resourceVersion);
  await Promise.all(watchers.map((watcher) => finish(server, watcher, last)));
  await close();
  await server.kill();
  readLog(dataDir);

  for (const [revision, value] of acknowledged) assert.equal(log.get(revision)?.state?.value, value);
  const changes = new ChangeLog([...log.values()]);
  const records = watchers.flatMap((watcher) => watcher.records);
  for (const record of records) {
    const [broken] = brokenGuarantees(changes, record);
    assert.equal(
      broken,
      undefined,
      `from ${record.from}, ${record.frames.length} frames: ${JSON.stringify(broken)}`,
    );
  }
  const shown = watchers.flatMap((watcher) => watcher.shown);
  for (const { revision, objects, selects } of shown)
    assert.deepEqual(
      [...objects].sort(),
      [...changes.at(revision)].filter(([key, state]) => selects(key, state)).sort(),
      `objects as of ${revision}`,
    );
  const frames = records.flatMap((record) => record.frames);
  const bookmarks = frames.filter(({ type }) => type === 'BOOKMARK').length;
  const gone = watchers.flatMap((watcher) => watcher.gone).length;
  assert.ok(bookmarks > 0 && gone > 0 && cuts > 0 && lookedBack > 0);
  context.diagnostic(
    `${rounds} ends of the server, ${records.length} watches, ${frames.length - bookmarks} events, ${bookmarks} bookmarks, ${shown.length} beginnings, ` +
      `${cuts} cut connections, ${lookedBack} looked back, ${gone} times 410, ${log.size} changes`,
  );
});
