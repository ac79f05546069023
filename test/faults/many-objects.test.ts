// A store of many objects: a restart, a kill, and a backup that is restored show the same objects.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { configmaps } from '../../src/api/generated/resources.ts';
import type { Client } from '../../src/client/client.ts';
import { scratchDirectory } from '../harness/scratch.ts';
import { startServerChild } from '../harness/server-child.ts';

const count = Number(process.env.PORTHOLE_OBJECTS ?? 20_000);
const namespace = 'default';
const writers = 64;
const pageSize = 1_000;

interface Contents {
  readonly objects: number;
  readonly revision: string;
  readonly hash: string;
}

/** All objects of the kind, in pages, as they are on the wire. */
async function contents(client: Client): Promise<Contents> {
  const hash = createHash('sha256');
  let objects = 0;
  let revision = '';
  let token: string | undefined;
  do {
    const page = await client.list(configmaps, {
      namespace,
      limit: pageSize,
      ...(token === undefined ? {} : { continue: token }),
    });
    revision ||= page.metadata.resourceVersion;
    assert.equal(page.metadata.resourceVersion, revision, 'all pages are of one revision');
    objects += page.items.length;
    for (const item of page.items) hash.update(JSON.stringify(item));
    token = page.metadata.continue || undefined;
  } while (token !== undefined);
  return { objects, revision, hash: hash.digest('hex') };
}

test('20,000 objects are the same ones, at the same revisions, after a kill and after an end', async (context) => {
  const scratch = scratchDirectory('many');
  context.after(() => scratch.remove());
  let server = await startServerChild({ dataDir: scratch.path });
  context.after(() => server.kill());
  let { client, close } = await server.connect();
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < count) {
      const i = next++;
      const data = { v: `${i} `.repeat(20), utf8: 'é\u{1f4a1}"\\\n' };
      await client.create(configmaps, {
        metadata: { name: `m-${i}`, namespace, labels: { i: String(i) } },
        data,
      });
    }
  };
  await Promise.all(Array.from({ length: writers }, write));
  const written = await contents(client);
  assert.equal(written.objects, count);
  const seconds: string[] = [];
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    await close();
    server.signal(signal);
    await server.ended;
    const from = performance.now();
    server = await startServerChild({ dataDir: scratch.path });
    seconds.push(((performance.now() - from) / 1_000).toFixed(1));
    ({ client, close } = await server.connect());
    const found = await contents(client);
    assert.deepEqual({ ...found, revision: '' }, { ...written, revision: '' }, `after ${signal}`);
    assert.ok(Number(found.revision) >= Number(written.revision), 'revisions never go back');
  }
  await close();
  context.diagnostic(`${count} objects, 2 restarts of ${seconds.join(' and ')} s`);
});
