// A server that stands still for a while (SIGSTOP) and goes on: no write is lost, watches go on, and nobody takes its store meanwhile.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { configmaps } from '../../src/api/generated/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { startServerChild } from '../harness/server-child.ts';

const pauses = Number(process.env.PORTHOLE_PAUSES ?? 2);
/** Below the 15 s after which a client asks a silent server whether it is there; more: connections may break. */
const pauseMs = Number(process.env.PORTHOLE_PAUSE_SECONDS ?? 4) * 1_000;
const namespace = 'default';
const writers = 4;
const watchers = 8;
const patience = { timeoutMs: 240_000 };

/** Counts up in an object of its own, from what the store says; what was acknowledged. */
async function count(client: Client, name: string, going: () => boolean): Promise<Map<number, string>> {
  const acknowledged = new Map<number, string>();
  let object = await client.create(configmaps, { metadata: { name, namespace }, data: { v: '0' } });
  for (let i = 1; going(); i++) {
    try {
      object = await client.update(configmaps, { ...object, data: { v: String(i) } });
      acknowledged.set(Number(object.metadata!.resourceVersion), `${name}=${i}`);
    } catch {
      // It may have been done, or not: what is there counts.
      object = await eventually(() => client.get(configmaps, { name, namespace }), patience);
    }
  }
  return acknowledged;
}

/** What one watcher was told: `name=value` by revision. Comes back where it was when its connection broke. */
async function follow(
  client: Client,
  until: () => boolean,
  signal: AbortSignal,
): Promise<Map<number, string>> {
  const told = new Map<number, string>();
  let last = 1;
  while (!until()) {
    try {
      const options = { namespace, resourceVersion: String(last), signal };
      for await (const event of client.watch(configmaps, options)) {
        assert.ok(event.type === 'ADDED' || event.type === 'MODIFIED', JSON.stringify(event));
        const { metadata, data } = event.object;
        const revision = Number(metadata!.resourceVersion);
        assert.ok(revision > last, `${revision} after ${last}`);
        last = revision;
        told.set(revision, `${metadata!.name}=${data!.v}`);
      }
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      await delay(20);
    }
  }
  return told;
}

test('a server that is stopped and goes on has lost no write and no watcher, and no other takes its store', async (context) => {
  const scratch = scratchDirectory('paused');
  context.after(() => scratch.remove());
  const server = await startServerChild({ dataDir: scratch.path });
  context.after(() => server.kill());
  const connections = await Promise.all(Array.from({ length: writers + watchers }, () => server.connect()));
  context.after(() => Promise.all(connections.map((one) => one.close())));
  const ending = new AbortController();
  const following = connections
    .slice(writers)
    .map(({ client }) => follow(client, () => ending.signal.aborted, ending.signal));
  let going = true;
  // Also when something fails in between.
  context.after(() => {
    going = false;
    ending.abort();
  });
  const counting = connections.slice(0, writers).map(({ client }, i) => count(client, `c${i}`, () => going));
  for (let i = 0; i < pauses; i++) {
    await delay(500);
    server.signal('SIGSTOP');
    const from = performance.now();
    await assert.rejects(
      startServerChild({ dataDir: scratch.path }),
      /ended with 1: .*the store in .* is in use by another process/s,
    );
    await delay(Math.max(0, pauseMs - (performance.now() - from)));
    server.signal('SIGCONT');
    await eventually(() => connections[0]!.client.raw({ method: 'GET', path: '/readyz' }), patience);
  }
  await delay(500);
  going = false;
  const acknowledged = new Map((await Promise.all(counting)).flatMap((one) => [...one]));
  const { client } = connections[0]!;
  const end = await client.create(configmaps, { metadata: { name: 'end', namespace }, data: { v: '0' } });
  const { items } = await client.list(configmaps, { namespace });
  const last = Number(end.metadata!.resourceVersion);
  await Promise.race([...following, delay(1_000)]);
  ending.abort();
  const all = await Promise.all(following);
  for (const told of all) {
    for (const [revision, what] of acknowledged) assert.equal(told.get(revision), what, `at ${revision}`);
    assert.equal(told.get(last), 'end=0');
    const newest = new Map([...told.values()].map((what) => what.split('=') as [string, string]));
    assert.deepEqual(
      items.map(({ metadata, data }) => `${metadata!.name}=${data!.v}`).sort(),
      [...newest].map(([name, value]) => `${name}=${value}`).sort(),
    );
  }
  context.diagnostic(`${pauses} pauses, ${acknowledged.size} acknowledged writes, ${all.length} watchers`);
});
