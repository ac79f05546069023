// The SQLite driver: the contract, kills, locks, damage and failing writes.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Clock } from '../../base/clock.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import type { Storage, StorageEvent } from '../storage.ts';
import { StorageError } from '../storage-error.ts';
import { draftOf, storageConformance, written } from '../testing/storage-conformance.ts';
import { openSqliteStorage } from './sqlite-storage.ts';

const root = mkdtempSync(join(tmpdir(), 'sqlite-storage-'));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const newDirectory = (): string => join(root, `store-${count++}`);
const directories = new WeakMap<Storage, string>();
async function open(directory = newDirectory(), clock: Clock = systemClock): Promise<Storage> {
  const storage = await openSqliteStorage({ directory, clock });
  directories.set(storage, directory);
  return storage;
}

storageConformance({
  name: 'SqliteStorage',
  open: (clock) => open(newDirectory(), clock),
  reopen: async (storage, clock) => {
    await storage.close();
    return open(directories.get(storage), clock);
  },
});

test('SqliteStorage keeps its files to its owner', async () => {
  const directory = newDirectory();
  const storage = await open(directory);
  await storage.create('/registry/a', draftOf('secret'));
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  for (const file of readdirSync(directory))
    assert.equal(statSync(join(directory, file)).mode & 0o077, 0, file);
  await storage.close();
});

test('a second opening of one directory is refused while the first is open', async () => {
  const directory = newDirectory();
  const storage = await open(directory);
  await assert.rejects(open(directory), (error: StorageError) => {
    assert.equal(error.code, 'Locked');
    assert.equal(error.message, `the store in ${directory} is in use by another process`);
    return true;
  });
  await storage.create('/registry/a', draftOf('1'));
  await storage.close();
  await (await open(directory)).close();
});

test('after kill -9 every acknowledged write is there and every other is absent or whole', async () => {
  const directory = newDirectory();
  let lastRevision = 0;
  for (let round = 0; round < 4; round++) {
    const acked = await runAndKill(directory, String(round), 300 + round * 150);
    const storage = await open(directory);
    try {
      const { entries, revision } = await storage.list('/registry/');
      const present = new Map(entries.map((e) => [e.key, e]));
      assert.ok(revision > lastRevision);
      lastRevision = revision;
      for (const { value, revision: at } of entries)
        assert.equal(JSON.parse(value.toString()).metadata.resourceVersion, String(at));
      for (const [key, { revision: at, text }] of acked) {
        // The one write that was under way may have become durable without being told.
        const later: StorageEvent[] = [];
        storage.watch(key, at, (batch) => later.push(...batch.filter((e) => e.key === key)));
        assert.ok(later.length <= 1);
        if (later.length > 0) continue;
        const entry = present.get(key);
        if (text === '-') assert.equal(entry, undefined);
        else if (entry === undefined) assert.fail(`${key} ${text} was acknowledged at ${at} and is gone`);
        else assert.equal(JSON.parse(entry.value.toString()).data, text);
      }
    } finally {
      await storage.close();
    }
  }
});

async function runAndKill(
  directory: string,
  round: string,
  lines: number,
): Promise<Map<string, { revision: number; text: string }>> {
  const script = new URL('../testing/crash-writer.ts', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, directory, round], { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  await new Promise<void>((resolve) => {
    let seen = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      seen += chunk.toString().split('\n').length - 1;
      if (seen >= lines) child.kill('SIGKILL');
    });
    child.on('close', () => resolve());
  });
  const acked = new Map<string, { revision: number; text: string }>();
  for (const line of output.split('\n').slice(0, -1)) {
    const [key, revision, text] = line.split(' ');
    acked.set(key!, { revision: Number(revision), text: text! });
  }
  assert.ok(acked.size > 0);
  return acked;
}

async function filled(): Promise<string> {
  const directory = newDirectory();
  const storage = await open(directory);
  for (let i = 0; i < 200; i++) await storage.create(`/registry/a/${i}`, draftOf('x'.repeat(2_000)));
  await storage.close();
  return directory;
}
const refused = (error: StorageError): boolean =>
  error instanceof StorageError && error.code === 'Corrupt' && /is damaged/.test(error.message);

test('a damaged, cut, emptied or foreign file is refused with a clear error', async () => {
  const flipped = await filled();
  const path = join(flipped, 'state.db');
  const bytes = readFileSync(path);
  const at = bytes.lastIndexOf('xxxxxxxxxx');
  bytes[at] = 'y'.charCodeAt(0);
  writeFileSync(path, bytes);
  await assert.rejects(open(flipped), refused);

  const cut = await filled();
  truncateSync(join(cut, 'state.db'), bytes.length >> 1);
  await assert.rejects(open(cut), refused);

  const emptied = await filled();
  truncateSync(join(emptied, 'state.db'), 0);
  await assert.rejects(open(emptied), refused);

  const foreign = await filled();
  writeFileSync(
    join(foreign, 'state.db'),
    'this is not a database, but it is long enough to look at '.repeat(100),
  );
  await assert.rejects(open(foreign), refused);
});

test('compaction deletes superseded values from the file and keeps the state', async () => {
  const directory = newDirectory();
  let storage = await open(directory);
  let entry = written(await storage.create('/registry/a', draftOf('0'.repeat(1_000))));
  for (let i = 0; i < 300; i++)
    entry = written(await storage.update('/registry/a', draftOf(String(i)), entry.revision));
  await storage.compact(entry.revision);
  await storage.close();
  storage = await open(directory);
  assert.deepEqual((await storage.list('/registry/')).entries, [entry]);
  const end = await storage.watch('/registry/', entry.revision - 1, () => {}).ended;
  assert.deepEqual(end, { reason: 'compacted', compactedTo: entry.revision });
  await storage.close();
});

test('values up to megabytes and thousands of concurrent writes survive a reopening', async () => {
  const directory = newDirectory();
  let storage = await open(directory);
  const big = 'é'.repeat(1_500_000);
  await Promise.all([
    storage.create('/registry/big', draftOf(big)),
    ...Array.from({ length: 3_000 }, (_, i) => storage.create(`/registry/small/${i}`, draftOf(String(i)))),
  ]);
  await storage.close();
  storage = await open(directory);
  assert.equal((await storage.list('/registry/small/')).entries.length, 3_000);
  assert.equal(JSON.parse((await storage.get('/registry/big'))!.value.toString()).data, big);
  await storage.close();
});

test('on a full disk writes fail with an error, reads go on, and what was acknowledged stays', async () => {
  const directory = newDirectory();
  const script = new URL('../testing/full-disk-writer.ts', import.meta.url).pathname;
  const child = spawnSync('prlimit', ['--fsize=12000000', process.execPath, script, directory], {
    encoding: 'utf8',
  });
  const told = JSON.parse(child.stdout) as {
    acked: number;
    failure: string;
    listed: number;
    revision: number;
  };
  assert.match(told.failure, /^(NoSpace|WriteFailed): the store cannot write: /);
  assert.ok(told.acked > 10);
  assert.equal(told.listed, told.acked);
  const storage = await open(directory);
  const { entries, revision } = await storage.list('/registry/');
  assert.ok(entries.length >= told.acked);
  assert.ok(revision >= told.revision);
  await storage.close();
});

test('10,000 random writes, with reopenings and compactions between, leave the file equal to a model', async () => {
  const directory = newDirectory();
  let storage = await open(directory);
  let seed = 3;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  const model = new Map<string, { revision: number; value: string }>();
  let newest = 0;
  for (let round = 0; round < 100; round++) {
    const decided = new Map(model);
    // Many at once, keys repeated: later writes rest on earlier ones that are not yet durable.
    const answers = Array.from({ length: 100 }, (_, i) => {
      const key = `/registry/k${random(60)}`;
      const current = decided.get(key);
      if (current !== undefined && current.revision === 0) return undefined;
      decided.set(key, { revision: 0, value: '' });
      const draft = draftOf(`${round}-${i}`);
      if (current === undefined) return storage.create(key, draft);
      return random(4) === 0
        ? storage.delete(key, draft, current.revision)
        : storage.update(key, draft, current.revision);
    });
    const watched: number[] = [];
    const { close: stop } = storage.watch('/registry/', await storage.revision(), (batch) => {
      for (const event of batch) {
        watched.push(event.revision);
        if (event.type === 'delete') model.delete(event.key);
        else model.set(event.key, { revision: event.revision, value: event.value.toString() });
      }
    });
    for (const answer of await Promise.all(answers)) {
      if (answer === undefined) continue;
      const { revision } = written(answer);
      assert.ok(revision > newest);
      assert.ok(watched.includes(revision));
    }
    stop();
    newest = await storage.revision();
    if (round % 10 === 9) await storage.compact(newest - random(50));
    if (round % 25 === 24) {
      await storage.close();
      storage = await open(directory);
      assert.equal(await storage.revision(), newest);
    }
    const { entries } = await storage.list('/registry/');
    assert.deepEqual(
      new Map(entries.map((e) => [e.key, { revision: e.revision, value: e.value.toString() }])),
      new Map([...model].sort()),
    );
  }
  await storage.close();
});

test('a write that rests on one that is not yet durable is decided by it', async () => {
  const storage = await open();
  const first = storage.create('/registry/a', draftOf('1'));
  const second = storage.create('/registry/a', draftOf('2'));
  const entry = written(await first);
  assert.deepEqual(await second, { ok: false, reason: 'exists', current: entry });
  const gone = storage.delete('/registry/a', draftOf('1'), entry.revision);
  const late = storage.update('/registry/a', draftOf('3'), entry.revision);
  const anew = storage.create('/registry/a', draftOf('4'));
  assert.ok((await gone).ok);
  assert.deepEqual(await late, { ok: false, reason: 'conflict', current: undefined });
  assert.deepEqual((await storage.get('/registry/a'))?.value, written(await anew).value);
  await storage.close();
});

test('what was deleted is given back to the disk, while the store is open', async () => {
  const directory = newDirectory();
  const storage = await open(directory);
  const size = (name: string): number => statSync(join(directory, name)).size;
  const entries = await Promise.all(
    Array.from({ length: 2_000 }, (_, i) => storage.create(`/registry/a/${i}`, draftOf('x'.repeat(6_000)))),
  );
  const full = size('state.db') + size('state.db-wal');
  assert.ok(full > 12_000_000);
  const deleted = entries
    .map(written)
    .map(({ key, revision }) => storage.delete(key, draftOf('x'), revision));
  for (const answer of await Promise.all(deleted)) written(answer);
  await storage.compact(await storage.revision());
  const until = performance.now() + 60_000;
  while (size('state.db') + size('state.db-wal') > full / 4) {
    assert.ok(performance.now() < until, `${size('state.db')} + ${size('state.db-wal')} bytes of ${full}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  written(await storage.create('/registry/a/again', draftOf('1')));
  await storage.close();
});

test('a full store refuses what grows, takes what shrinks, ends or is the system’s, and has room again', async () => {
  const directory = newDirectory();
  let storage = await open(directory);
  const full: boolean[] = [];
  const limit = (): void =>
    storage.space!.limit({
      bytes: 100_000,
      isSystem: (key) => key.startsWith('/registry/system/'),
      onFull: (now) => full.push(now),
    });
  const refused = { name: 'StorageError', code: 'NoSpace' };
  limit();
  const key = '/registry/a/0';
  let entry = written(await storage.create(key, draftOf('x'.repeat(60_000))));
  await assert.rejects(storage.create('/registry/a/1', draftOf('x'.repeat(60_000))), refused);
  await assert.rejects(storage.update(key, draftOf('x'.repeat(110_000)), entry.revision), refused);
  assert.throws(() => storage.space!.check(), refused);
  assert.deepEqual(full, [true]);
  // A refusal takes no revision and leaves nothing behind.
  assert.equal(await storage.revision(), entry.revision);
  assert.equal((await storage.list('/registry/')).entries.length, 1);

  const { used } = storage.space!;
  entry = written(await storage.update(key, draftOf('y'.repeat(60_000)), entry.revision));
  assert.equal(storage.space!.used, used, 'a write of the same size takes nothing');
  const system = written(await storage.create('/registry/system/b', draftOf('x'.repeat(60_000))));
  const marked = { ...draftOf('z'.repeat(60_200)), urgency: 'deletion' as const };
  entry = written(await storage.update(key, marked, entry.revision));
  const told = { ...draftOf('z'.repeat(64_000)), urgency: 'ending' as const };
  entry = written(await storage.update(key, told, entry.revision));
  const much = { ...draftOf('z'.repeat(70_000)), urgency: 'ending' as const };
  await assert.rejects(storage.update(key, much, entry.revision), refused);

  // What is there counts after a start, too; all that was refused till now was above the limit.
  const before = storage.space!.used;
  await storage.close();
  storage = await open(directory);
  limit();
  assert.equal(storage.space!.used, before);
  await assert.rejects(storage.create('/registry/a/2', draftOf('1')), refused);
  written(await storage.delete('/registry/system/b', draftOf('x'), system.revision));
  storage.space!.check();
  assert.deepEqual(full, [true, true, false]);
  written(await storage.create('/registry/a/2', draftOf('1')));
  await storage.close();
});
