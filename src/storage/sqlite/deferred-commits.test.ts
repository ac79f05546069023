// What is acknowledged before SQLite has it: nothing of it is lost, whenever the store is killed and whatever SQLite answers.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { systemRandom } from '../../component-base/system-random.ts';
import type { StorageError } from '../storage-error.ts';
import { assertSameState, openState, randomBatch, seeded, stateOf, textOf } from '../testing/store-model.ts';
import type { Batch } from './batch.ts';
import { DurableStore } from './durable-store.ts';
import { blockSize, recordsStart } from './journal-format.ts';
import { readStore } from './read-store.ts';
import { salvage } from './salvage.ts';

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'deferred-commits-'));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const newDirectory = (): string => join(root, `store-${count++}`);

function opened(checkpointBytes?: number): { store: DurableStore; directory: string } {
  const directory = newDirectory();
  const options = checkpointBytes === undefined ? {} : { checkpointBytes };
  const store = new DurableStore(directory, systemRandom, options);
  store.start();
  return { store, directory };
}

/** As `kill -9` leaves its files now. */
function killed(directory: string): string {
  const copy = newDirectory();
  cpSync(directory, copy, { recursive: true });
  return copy;
}

/** One key, so many bytes. */
function batchOf(revision: number, bytes = 100): Batch {
  const values = Buffer.alloc(bytes, 'x');
  return {
    keys: [`/registry/core/configmaps/default/c${revision}`],
    puts: Uint8Array.of(1),
    revisions: Float64Array.of(revision),
    previous: Float64Array.of(0),
    lengths: Uint32Array.of(bytes),
    values,
  };
}

const shown = (objects: ReadonlyMap<string, string>): [string, string][] => [...objects].sort();

test('a kill after any step loses nothing, nor does who only reads what it left', (context) => {
  const random = seeded(5);
  const { store, directory } = opened(150_000);
  const objects = new Map<string, string>();
  let waited = 0;
  for (let step = 0; step < 150; step++) {
    if (step % 30 === 17) store.settle();
    else if (step % 30 === 23) store.rest();
    else if (step % 30 === 29) while (store.compactSome(store.revision() - 15));
    else {
      store.write(randomBatch(random, store.revision(), objects));
      // Small ones: what is written on without a pause waits.
      if (step % 3 === 0) continue;
    }
    const left = killed(directory);
    rmSync(join(left, 'state.db-shm'), { force: true });
    const { revision, entries } = readStore(left);
    assert.equal(revision, store.revision());
    assert.deepEqual(shown(new Map(entries.map((e) => [e.key, textOf(e)]))), shown(objects));
    const saved = salvage(left);
    assert.deepEqual([saved.entries.length, saved.harmed], [objects.size, []]);
    const lost = killed(left);
    rmSync(join(lost, 'state.db-wal'), { force: true });
    for (const one of [left, lost]) {
      const found = openState(one);
      assert.equal(found.revision, store.revision(), `step ${step}`);
      assert.deepEqual(shown(found.objects), shown(objects), `step ${step}`);
      rmSync(one, { recursive: true });
    }
    waited++;
  }
  store.close();
  assert.deepEqual(shown(openState(directory).objects), shown(objects));
  context.diagnostic(`${waited} kills`);
});

test('writes wait in the journal, together they are few pages of SQLite’s log, and large ones do not wait', () => {
  const { store, directory } = opened();
  const logBytes = (): number => statSync(join(directory, 'state.db-wal')).size;
  for (let i = 0; i < 100; i++) store.write(batchOf(store.revision() + 1));
  assert.equal(logBytes(), 0);
  store.settle();
  const together = logBytes();
  assert.ok(together > 0 && together < 200_000, `${together}`);
  store.write(batchOf(store.revision() + 1, 600_000));
  assert.ok(logBytes() > together + 600_000);
  store.close();
});

test('a floor that was promised while writes wait holds after a kill', () => {
  const { store, directory } = opened();
  for (let i = 0; i < 20; i++) store.write(batchOf(store.revision() + 1));
  const floor = store.revision() - 3;
  while (store.compactSome(floor));
  store.write(batchOf(store.revision() + 1));
  const { revision, history } = openState(killed(directory));
  assert.deepEqual([revision, history.length], [floor + 4, 4]);
  store.close();
});

/** No file of this process may grow beyond it, nor be written there: as a disk that gives SQLite's log no room. */
function limitFiles(bytes: number | 'unlimited'): void {
  const { status } = spawnSync('prlimit', ['--pid', String(process.pid), `--fsize=${bytes}:unlimited`]);
  assert.equal(status, 0);
}

test('what SQLite refuses after it was acknowledged is kept, the next write says so, and all goes on when it can', (t) => {
  const ignore = (): void => {};
  process.on('SIGXFSZ', ignore);
  t.after(() => {
    limitFiles('unlimited');
    process.off('SIGXFSZ', ignore);
  });
  const { store, directory } = opened();
  const write = (): void => store.write(batchOf(store.revision() + 1, 3_000));
  for (let i = 0; i < 20; i++) write();
  // The journal has its space already; the log of as much, with its heads and the pages of other tables, is longer.
  limitFiles(recordsStart + 21 * blockSize);
  store.settle();
  assert.throws(write, { name: 'StorageError', code: 'WriteFailed' });
  assert.equal(store.revision(), 21);
  limitFiles('unlimited');
  const { revision, objects } = openState(killed(directory));
  assert.deepEqual([revision, objects.size], [21, 20], 'what was acknowledged, and not what was refused');
  write();
  const state = stateOf(store);
  assert.deepEqual([state.revision, state.objects.size], [22, 21]);
  assertSameState(openState(killed(directory)), state, 'after a kill');
  store.close();
  assertSameState(openState(directory), state, 'after its end');
});

test('a store that ends while SQLite refuses what waits has it at the next start', (t) => {
  const ignore = (): void => {};
  process.on('SIGXFSZ', ignore);
  t.after(() => process.off('SIGXFSZ', ignore));
  const { store, directory } = opened();
  for (let i = 0; i < 20; i++) store.write(batchOf(store.revision() + 1, 3_000));
  limitFiles(recordsStart + 21 * blockSize);
  try {
    store.close();
  } finally {
    limitFiles('unlimited');
  }
  const { revision, objects } = openState(directory);
  assert.deepEqual([revision, objects.size], [21, 20]);
});

function flip(directory: string, record: number): void {
  const path = join(directory, 'journal');
  const bytes = readFileSync(path);
  const at = recordsStart + record * blockSize + 200;
  bytes[at] = bytes[at]! ^ 1;
  writeFileSync(path, bytes);
}

test('a flip in the journal is said while it has the only copy, and harms nothing once SQLite has the other', () => {
  const { store, directory } = opened();
  for (let i = 0; i < 10; i++) store.write(batchOf(store.revision() + 1, 1_000));
  for (let record = 0; record < 10; record++) {
    const harmed = killed(directory);
    flip(harmed, record);
    // The last of all can't be told from one that was torn.
    if (record === 9) assert.equal(openState(harmed).revision, 10);
    else
      assert.throws(
        () => openState(harmed),
        (error: StorageError) =>
          error.code === 'Lost' && error.message.includes(`ends at revision ${record + 1}`),
      );
  }
  store.settle();
  for (let record = 0; record < 10; record++) {
    const harmed = killed(directory);
    flip(harmed, record);
    assert.equal(openState(harmed).revision, 11);
  }
  store.close();
});

test('a damaged database is refused as it is, though the journal has what it lacks', () => {
  const { store: first, directory } = opened();
  first.write(batchOf(2, 1_000));
  first.close();
  const store = new DurableStore(directory, systemRandom);
  store.start();
  store.write(batchOf(3, 1_000));
  const left = killed(directory);
  store.close();
  assert.equal(statSync(join(left, 'state.db-wal')).size, 0);
  const path = join(left, 'state.db');
  const bytes = readFileSync(path);
  bytes[bytes.indexOf('xxxxxxxxxx')] = 0;
  writeFileSync(path, bytes);
  assert.throws(() => openState(left), { name: 'StorageError', code: 'Corrupt' });
  assert.deepEqual(readFileSync(path), bytes);
});
