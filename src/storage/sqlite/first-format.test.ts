// A store of the first format becomes one of today's, whole, and goes on.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { crc32 } from 'node:zlib';
import type { StorageEvent } from '../storage.ts';
import { draftOf, written } from '../testing/storage-conformance.ts';
import { damageOf, readStore } from './read-store.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const root = mkdtempSync(join(tmpdir(), 'first-format-'));
after(() => rmSync(root, { recursive: true, force: true }));

const key = (name: string): string => `/registry/core/configmaps/default/${name}`;
const value = (revision: number): string => `{"metadata":{"resourceVersion":"${revision}"}}`;
/** [name, put, revision, revision before] */
const log: readonly (readonly [string, number, number, number])[] = [
  ['a', 1, 2, 0],
  ['b', 1, 3, 0],
  ['a', 1, 4, 2],
  ['b', 0, 5, 3],
  ['c', 1, 6, 0],
];

/** As its last version wrote it. */
function firstFormat(directory: string): void {
  mkdirSync(directory, { recursive: true });
  const db = new DatabaseSync(join(directory, 'state.db'));
  db.exec(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE log (
      revision INTEGER PRIMARY KEY, key TEXT NOT NULL, put INTEGER NOT NULL, previous INTEGER NOT NULL,
      checksum INTEGER NOT NULL, value BLOB NOT NULL
    ) STRICT;
    CREATE TABLE keys (key TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('revision', 6), ('floor', 1);
    PRAGMA application_id = 0x504f5254;
    PRAGMA user_version = 1;`);
  const insert = db.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)');
  for (const [name, put, revision, previous] of log) {
    const bytes = Buffer.from(value(revision));
    insert.run(revision, key(name), put, previous, crc32(bytes, crc32(key(name))), bytes);
  }
  db.exec(`INSERT INTO keys VALUES ('${key('a')}', 4), ('${key('c')}', 6)`);
  db.close();
  writeFileSync(join(directory, 'format'), '1\n');
}

test('a store of format 1 is read with its history, written as one of today, and opened again', async (context) => {
  const directory = join(root, 'store');
  firstFormat(directory);
  for (let opening = 1; opening <= 3; opening++) {
    const storage = await openSqliteStorage({ directory });
    context.after(() => storage.close());
    const { entries, revision } = await storage.list('/registry/');
    assert.equal(revision, 5 + opening);
    assert.deepEqual(
      entries
        .filter((entry) => !entry.key.includes('new'))
        .map((entry) => [entry.key, entry.revision, entry.value.toString()]),
      [
        [key('a'), 4, value(4)],
        [key('c'), 6, value(6)],
      ],
    );
    const events: StorageEvent[] = [];
    storage.watch('/registry/', 1, (told) => void events.push(...told)).close();
    assert.deepEqual(
      events.slice(0, log.length).map((event) => [event.key, event.type, event.revision]),
      log.map(([name, put, at]) => [key(name), put === 1 ? 'put' : 'delete', at]),
    );
    const made = written(await storage.create(key(`new-${opening}`), draftOf('x')));
    assert.equal(made.revision, 6 + opening);
    await storage.close();
    assert.equal(readFileSync(join(directory, 'format'), 'utf8'), '3\n');
  }
});

test('a store of format 1 is read, and stays as it is', () => {
  const directory = join(root, 'only-read');
  firstFormat(directory);
  const files = (): Record<string, string> =>
    Object.fromEntries(
      readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), 'latin1')]),
    );
  const before = files();
  const { revision, entries } = readStore(directory);
  assert.equal(revision, 6);
  assert.deepEqual(
    entries.map((entry) => [entry.key, entry.revision, Buffer.from(entry.value).toString()]),
    [
      [key('a'), 4, value(4)],
      [key('c'), 6, value(6)],
    ],
  );
  assert.equal(damageOf(directory), undefined);
  assert.deepEqual(files(), before);
});

test('a value of format 1 that is not what was written is damage, whoever looks at it', async () => {
  const directory = join(root, 'damaged');
  firstFormat(directory);
  const db = new DatabaseSync(join(directory, 'state.db'));
  db.exec(`UPDATE log SET value = x'7b7d' WHERE revision = 6`);
  db.close();
  assert.equal(damageOf(directory)?.code, 'Corrupt');
  await assert.rejects(openSqliteStorage({ directory }), { code: 'Corrupt' });
  const still = new DatabaseSync(join(directory, 'state.db'), { readOnly: true });
  assert.equal(still.prepare('PRAGMA user_version').get()?.['user_version'], 1, 'not upgraded');
  still.close();
});
