// Leases on disk: after a kill, a power cut, an upgrade, damage, a backup and a repair, what is left of them goes on.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { decodeBackup, encodeBackup } from '../backup/backup-format.ts';
import { draftOf, written } from '../testing/storage-conformance.ts';
import { damageOf, readStore } from './read-store.ts';
import { buildStore } from './rebuild.ts';
import { salvage } from './salvage.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const root = mkdtempSync(join(tmpdir(), 'leased-rows-'));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const newDirectory = (): string => join(root, `store-${count++}`);
const key = (name: string): string => `/registry/core/events/default/${name}`;

/** A store that is open: `old` was written 20 s before `new`, each with a minute; the disk holds `old` in its database file. */
async function opened(clock: FakeClock): Promise<{ directory: string; end(): Promise<void> }> {
  const directory = newDirectory();
  let storage = await openSqliteStorage({ directory, clock });
  const put = async (name: string): Promise<void> => {
    const lease = await storage.grant(60_000);
    written(await storage.create(key(name), { ...draftOf(name), lease }));
  };
  await put('old');
  await storage.close();
  storage = await openSqliteStorage({ directory, clock });
  written(await storage.create(key('stays'), draftOf('stays')));
  clock.advance(20_000);
  await put('new');
  return { directory, end: () => storage.close() };
}

/** What is left of each, in seconds. */
async function leftIn(
  directory: string,
  clock = new FakeClock(),
): Promise<Record<string, number | undefined>> {
  const storage = await openSqliteStorage({ directory, clock });
  try {
    const left: Record<string, number | undefined> = {};
    for (const entry of (await storage.list('/registry/')).entries) {
      const ms = entry.lease === undefined ? undefined : await storage.timeToLive(entry.lease);
      left[entry.key.split('/').at(-1)!] = ms === undefined ? undefined : Math.round(ms / 1000);
    }
    return left;
  } finally {
    await storage.close();
  }
}

function copyOf(directory: string, leaveOut: readonly string[] = []): string {
  const copy = newDirectory();
  cpSync(directory, copy, { recursive: true });
  for (const name of leaveOut) rmSync(join(copy, name), { force: true });
  return copy;
}

test('a kill shortens no lease, nor does a power cut that takes what SQLite had not synced', async (t) => {
  const store = await opened(new FakeClock());
  t.after(() => store.end());
  assert.deepEqual(await leftIn(copyOf(store.directory)), { old: 40, stays: undefined, new: 60 });
  // What the clock had counted is lost with SQLite's log: it goes on from where it was.
  const cut = copyOf(store.directory, ['state.db-wal', 'state.db-shm']);
  assert.deepEqual(await leftIn(cut), { old: 60, stays: undefined, new: 60 });
});

/** As the format before today's: the same but for leases. */
function toSecondFormat(directory: string): void {
  const db = new DatabaseSync(join(directory, 'state.db'));
  db.exec('DROP TABLE leased; DROP TABLE lease_clock; PRAGMA user_version = 2;');
  db.close();
  writeFileSync(join(directory, 'format'), '2\n');
}

test('a store of format 2 is read as it is, and becomes one of today with what only its journal has', async () => {
  const directory = newDirectory();
  const storage = await openSqliteStorage({ directory });
  written(await storage.create(key('a'), draftOf('a')));
  await storage.close();
  const again = await openSqliteStorage({ directory });
  written(await again.create(key('b'), draftOf('b')));
  const old = copyOf(directory, ['state.db-wal', 'state.db-shm']);
  await again.close();
  toSecondFormat(old);
  const before = readFileSync(join(old, 'state.db'));
  assert.deepEqual(
    readStore(old).entries.map((entry) => [entry.key, entry.remainingMs]),
    [
      [key('a'), undefined],
      [key('b'), undefined],
    ],
  );
  assert.deepEqual(readFileSync(join(old, 'state.db')), before);
  for (let opening = 0; opening < 2; opening++) {
    assert.deepEqual(await leftIn(old), { a: undefined, b: undefined });
    assert.equal(readFileSync(join(old, 'format'), 'utf8'), '3\n');
  }
});

for (const [what, change] of [
  ['a lease', 'UPDATE leased SET until = until - 30000'],
  ['the row that a lease is of', 'UPDATE leased SET revision = revision + 1 WHERE revision = 2'],
  ['the clock of leases', 'UPDATE lease_clock SET open_ms = open_ms + 30000'],
] as const)
  test(`${what} that is not what was written is damage: nothing is deleted for it`, async () => {
    const store = await opened(new FakeClock());
    await store.end();
    const db = new DatabaseSync(join(store.directory, 'state.db'));
    db.exec(change);
    db.close();
    assert.equal(damageOf(store.directory)?.code, 'Corrupt');
    await assert.rejects(openSqliteStorage({ directory: store.directory }), { code: 'Corrupt' });
    assert.equal(salvage(store.directory).entries.length, 3, 'what can be read is all of it');
  });

test('a backup, and what is saved of a store, have what is left of leases, and a store made of them goes on', async (t) => {
  const store = await opened(new FakeClock());
  t.after(() => store.end());
  const copy = copyOf(store.directory);
  const seconds = (entries: readonly { key: string; remainingMs?: number | undefined }[]) =>
    Object.fromEntries(
      entries.map((entry) => [
        entry.key.split('/').at(-1),
        entry.remainingMs && Math.round(entry.remainingMs / 1000),
      ]),
    );
  const expected = { old: 40, stays: undefined, new: 60 };
  const { entries, revision } = readStore(copy);
  assert.deepEqual(seconds(entries), expected);
  assert.deepEqual(seconds(salvage(copy).entries), expected);
  const chunks = encodeBackup({ revision, createdAt: '', entries, files: [] });
  const backup = decodeBackup(Buffer.concat([...chunks]));
  const restored = newDirectory();
  buildStore(restored, backup.entries, revision, systemRandom);
  assert.deepEqual(await leftIn(restored), expected);
});

test('what is forgotten of history takes its leases with it', async () => {
  const directory = newDirectory();
  const storage = await openSqliteStorage({ directory, clock: new FakeClock() });
  const lease = await storage.grant(60_000);
  let entry = written(await storage.create(key('a'), { ...draftOf('a'), lease }));
  for (let i = 0; i < 20; i++)
    entry = written(await storage.update(key('a'), { ...draftOf('a'), lease }, entry.revision));
  await storage.compact(entry.revision);
  await storage.close();
  const db = new DatabaseSync(join(directory, 'state.db'), { readOnly: true });
  const revisions = db.prepare('SELECT revision FROM leased').all();
  db.close();
  assert.deepEqual(
    revisions.map(({ revision }) => revision),
    [entry.revision],
  );
});
