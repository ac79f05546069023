// Churn for a while: what the server holds at the end - descriptors, heap, database - is what it held once it was warm.
import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { configmaps, pods } from '../../src/api/generated/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { eventually } from '../harness/eventually.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { type ServerChild, startServerChild } from '../harness/server-child.ts';

const seconds = Number(process.env.PORTHOLE_SOAK_SECONDS ?? 40);
const namespace = 'default';
const lanes = 8;
const slots = 20;
/** What a collector leaves lying, and the history of another half of the time. */
const allowedMb = 48;

interface Held {
  readonly descriptors: number;
  readonly heap: number;
  readonly database: number;
}

const counts = { writes: 0, watches: 0, events: 0, lists: 0, connections: 0 };

/** A collection of garbage is the process's own affair: the lowest of some readings is what it holds. */
async function held(server: ServerChild, client: Client, dataDir: string): Promise<Held> {
  let heap = Number.POSITIVE_INFINITY;
  for (let i = 0; i < 30; i++) {
    const { body } = await client.raw({ method: 'GET', path: '/metrics' });
    const used = /^nodejs_heap_size_used_bytes (\S+)$/m.exec(body.toString());
    heap = Math.min(heap, Number(used![1]));
    for (let j = 0; j < 40; j++) await client.list(pods);
  }
  const database = readdirSync(join(dataDir, 'db')).reduce(
    (sum, name) => sum + statSync(join(dataDir, 'db', name)).size,
    0,
  );
  return { descriptors: readdirSync(`/proc/${server.pid}/fd`).length, heap, database };
}

/** Connects, works a while, leaves; objects come, change and go. */
async function lane(server: ServerChild, index: number, until: () => boolean): Promise<void> {
  while (!until()) {
    const { client, close } = await server.connect();
    counts.connections++;
    for (let i = 0; i < slots && !until(); i++) {
      const name = `s-${index}-${i}`;
      const key = { name, namespace };
      const watching = (async () => {
        counts.watches++;
        const options = { namespace, fieldSelector: `metadata.name=${name}`, timeoutSeconds: 5 };
        for await (const event of client.watch(configmaps, options)) {
          counts.events++;
          if (event.type === 'DELETED') return;
        }
      })();
      await client.create(configmaps, { metadata: key, data: { v: 'x'.repeat(2_000) } });
      for (let change = 0; change < 5; change++)
        await client.patch(configmaps, key, { type: 'merge', body: { data: { v: String(change) } } });
      await client.list(configmaps, { namespace, labelSelector: 'a!=b', limit: 5 });
      await client.delete(configmaps, key);
      counts.writes += 7;
      counts.lists++;
      await watching;
    }
    await close();
  }
}

async function churn(server: ServerChild, ms: number): Promise<void> {
  const end = performance.now() + ms;
  const until = (): boolean => performance.now() > end;
  await Promise.all(Array.from({ length: lanes }, (_, i) => lane(server, i, until)));
}

test('descriptors, heap and database do not grow with time', async (context) => {
  const scratch = scratchDirectory('soak');
  context.after(() => scratch.remove());
  const server = await startServerChild({ dataDir: scratch.path });
  context.after(() => server.kill());
  const { client, close } = await server.connect();
  // Until as much history is held as ever will be, per change.
  await churn(server, (seconds * 1_000) / 2);
  const warm = await held(server, client, scratch.path);
  await churn(server, (seconds * 1_000) / 2);
  const end = await eventually(async () => {
    const now = await held(server, client, scratch.path);
    assert.equal(now.descriptors, warm.descriptors);
    return now;
  });
  await close();
  const grown = (what: 'heap' | 'database'): number => (end[what] - warm[what]) / (1 << 20);
  const text =
    `${counts.connections} connections, ${counts.writes} writes, ${counts.watches} watches, ${counts.events} events; ` +
    `${end.descriptors} descriptors, heap ${(end.heap / (1 << 20)).toFixed(1)} MB (${grown('heap').toFixed(1)} more), ` +
    `database ${(end.database / (1 << 20)).toFixed(1)} MB (${grown('database').toFixed(1)} more)`;
  assert.ok(grown('heap') < allowedMb && grown('database') < allowedMb, text);
  assert.ok(counts.writes > 100, text);
  context.diagnostic(text);
});
