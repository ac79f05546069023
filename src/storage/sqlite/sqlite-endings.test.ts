// The writer thread ends, or a watcher throws: said at once, and no write hangs.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { StorageError } from '../storage-error.ts';
import { draftOf, written } from '../testing/storage-conformance.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const root = mkdtempSync(join(tmpdir(), 'sqlite-endings-'));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

async function open() {
  const said = Promise.withResolvers<StorageError>();
  const storage = await openSqliteStorage({
    directory: join(root, `store-${count++}`),
    workerUrl: new URL('../testing/ending-writer.ts', import.meta.url),
    onTrouble: (error) => error !== undefined && said.resolve(error),
  });
  return { storage, trouble: said.promise };
}
const isBroken = { name: 'StorageError', code: 'Broken' };

test('a writer thread that ends while nobody writes is said at once, and stays said', async () => {
  const { storage, trouble } = await open();
  written(await storage.create('/registry/kept', draftOf('x')));
  // Whether its acknowledgement still comes is the machine's: nothing else is asked for until the end is said.
  const last = storage.create('/registry/throw', draftOf('x')).catch(() => undefined);
  const error = await trouble;
  assert.equal(error.code, 'Broken');
  assert.match(error.message, /JS heap out of memory$/);
  await last;
  await assert.rejects(storage.check!(), isBroken);
  await assert.rejects(storage.create('/registry/a', draftOf('x')), isBroken);
  assert.ok(await storage.get('/registry/kept'), 'what was acknowledged is read');
  await assert.rejects(storage.close());
});

test('a writer thread that ends under a write fails that write, and is said', async () => {
  const { storage, trouble } = await open();
  await assert.rejects(storage.create('/registry/exit', draftOf('x')), isBroken);
  assert.equal((await trouble).code, 'Broken');
  await assert.rejects(storage.close());
});

test('a watcher that throws stops no write and no other watcher, and is said as what it is', async () => {
  const { storage, trouble } = await open();
  const seen: string[] = [];
  const thrown = new Error('a watcher failed once');
  const watch = storage.watch('/registry/', await storage.revision(), (events) => {
    if (events.length > 0) throw thrown;
  });
  storage.watch('/registry/', await storage.revision(), (events) => seen.push(...events.map((e) => e.key)));
  const keys = ['/registry/a', '/registry/b', '/registry/c'];
  for (const key of keys) written(await storage.create(key, draftOf('x')));
  assert.deepEqual(seen, keys);
  assert.deepEqual(await watch.ended, { reason: 'failed', error: thrown });
  const error = await trouble;
  assert.equal(error.code, 'Broken');
  assert.match(error.message, /a watcher failed: a watcher failed once$/);
  await assert.rejects(storage.check!(), isBroken, 'a probe that succeeds does not take it back');
  await storage.close();
});
