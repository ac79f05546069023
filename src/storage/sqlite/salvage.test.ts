// What is read of a damaged store: the last state of each key, or it is named. What was deleted stays so.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { systemRandom } from '../../component-base/system-random.ts';
import { randomBatch, seeded, textOf } from '../testing/store-model.ts';
import { DurableStore } from './durable-store.ts';
import { type Salvaged, salvage } from './salvage.ts';

const root = mkdtempSync(join(tmpdir(), 'salvage-'));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

interface Made {
  readonly directory: string;
  readonly objects: ReadonlyMap<string, string>;
  /** Keys that were there once. */
  readonly deleted: readonly string[];
}

/** A store of 40 keys that come and go, without its journal: what the database file alone tells. */
function made(seed: number): Made {
  const random = seeded(seed);
  const directory = join(root, `store-${count++}`);
  const store = new DurableStore(directory, systemRandom);
  store.start();
  const objects = new Map<string, string>();
  const seen = new Set<string>();
  for (let i = 0; i < 60; i++) {
    store.write(randomBatch(random, store.revision(), objects));
    for (const key of objects.keys()) seen.add(key);
  }
  store.close();
  rmSync(join(directory, 'journal'));
  return { directory, objects, deleted: [...seen].filter((key) => !objects.has(key)) };
}

const change = (directory: string, statement: string): void => {
  const db = new DatabaseSync(join(directory, 'state.db'));
  db.exec(statement);
  db.close();
};

/** Every key that is not said to be harmed is as it was. Returns how many are harmed. */
function assertTold({ objects, deleted }: Made, { entries, harmed }: Salvaged): number {
  const told = new Set(harmed.map(({ key }) => key));
  const kept = new Map(entries.map((entry) => [entry.key, textOf(entry)]));
  for (const key of deleted) assert.ok(!kept.has(key) || told.has(key), `${key} is there again`);
  for (const [key, value] of objects)
    if (!told.has(key)) assert.equal(kept.get(key), value, `${key} is not as it was`);
  return told.size;
}

test('a whole store is read whole', () => {
  const store = made(1);
  const found = salvage(store.directory);
  assert.equal(assertTold(store, found), 0);
  assert.equal(found.entries.length, store.objects.size);
  assert.ok(store.deleted.length > 3);
});

test('what was killed is read without a trace', () => {
  const directory = join(root, `store-${count++}`);
  const live = new DurableStore(directory, systemRandom);
  live.start();
  live.write(randomBatch(seeded(7), live.revision(), new Map()));
  const killed = `${directory}-killed`;
  cpSync(directory, killed, { recursive: true });
  live.close();
  rmSync(join(killed, 'state.db-shm'), { force: true });
  const before = readdirSync(killed);
  assert.ok(salvage(killed).entries.length > 0);
  assert.deepEqual(readdirSync(killed), before);
});

test('a deletion whose row is damaged stays a deletion: the keys know', () => {
  const store = made(2);
  change(store.directory, 'UPDATE log SET previous = previous + 1 WHERE put = 0');
  const found = salvage(store.directory);
  assert.equal(assertTold(store, found), 0);
  assert.equal(found.entries.length, store.objects.size);
});

test('where the keys are damaged, too, what may have been deleted is named', () => {
  for (const harm of [
    'DELETE FROM keys WHERE key IN (SELECT key FROM keys ORDER BY revision LIMIT 3)',
    'UPDATE keys SET revision = revision - 1 WHERE key IN (SELECT key FROM keys ORDER BY key LIMIT 1)',
    'UPDATE meta SET digest = digest + 1',
    'DELETE FROM meta',
  ]) {
    const store = made(3);
    change(store.directory, 'UPDATE log SET previous = previous + 1 WHERE put = 0');
    change(store.directory, harm);
    assert.ok(assertTold(store, salvage(store.directory)) > 0, harm);
  }
});

test('a damaged last state is named, and what is older is kept', () => {
  const store = made(4);
  change(store.directory, 'UPDATE log SET previous = previous + 1 WHERE revision % 5 = 0');
  const found = salvage(store.directory);
  assert.ok(assertTold(store, found) > 3);
  assert.ok(found.harmed.some(({ kept }) => kept !== undefined));
});
