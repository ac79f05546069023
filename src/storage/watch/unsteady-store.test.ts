// The resource cache over stores that lag, break off and forget: what it shows is the store, and nobody misses a change unsaid.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import type { Storage, WatchEnd } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import { FailingStorage } from '../testing/failing-storage.ts';
import { LaggingStorage } from '../testing/lagging-storage.ts';
import { seeded } from '../testing/store-model.ts';
import { createCacheSource } from './cache-source.ts';
import type { IndexRecord, ResourceCache, WatchCursor } from './resource-cache.ts';

const things = { group: '', resource: 'things' };
const indexOf = (object: unknown): IndexRecord => {
  const { name } = object as { name: string };
  return { namespace: '', name, uid: '', labels: {}, fields: { 'metadata.name': name } };
};
const head = '{"metadata":{"resourceVersion":"';
const draftOf = (name: string, text: string) =>
  [
    { bytes: Buffer.from(`${head}"},"name":"${name}","text":"${text}"}`), revisionAt: head.length },
    { name, text },
  ] as const;

interface Opened {
  readonly cache: ResourceCache;
  readonly ends: WatchEnd['reason'][];
}

async function open(t: TestContext, storage: Storage, clock = systemClock): Promise<Opened> {
  const ends: Opened['ends'] = [];
  const source = await createCacheSource(storage, clock, { onTrouble: (why) => ends.push(why.reason) });
  t.after(() => source.close());
  return { cache: source.cache(things, indexOf), ends };
}

async function write(cache: ResourceCache, name: string, text: string): Promise<number> {
  const current = cache.get('', name);
  const [draft, object] = draftOf(name, text);
  const outcome =
    current === undefined
      ? await cache.create('', name, draft, object)
      : text === ''
        ? await cache.delete('', name, draft, object, current.revision)
        : await cache.update('', name, draft, object, current.revision);
  assert.ok(outcome.ok);
  return outcome.entry.revision;
}

const textOf = (cache: ResourceCache, name: string): string | undefined => {
  const value = cache.get('', name)?.value;
  return value && (JSON.parse(value.toString()) as { text: string }).text;
};

function read(cursor: WatchCursor): [type: string, revision: number][] {
  const seen: [string, number][] = [];
  for (let event = cursor.next(); event !== undefined; event = cursor.next())
    seen.push([event.type, event.revision]);
  return seen;
}

async function sameAsStore(cache: ResourceCache, storage: Storage): Promise<void> {
  const { entries, revision } = await storage.list('/registry/');
  await cache.waitFor(revision);
  const shown = cache.list({ namespace: '', limit: 0 });
  assert.equal(shown.revision, revision);
  assert.deepEqual(
    shown.items.map(({ key, value }) => [key, value.toString()]),
    entries.map(({ key, value }) => [key, value.toString()]),
  );
}

for (const [name, unsteady] of [
  ['whose answers and watches are late', (store: Storage) => new LaggingStorage(store)],
  ['whose watch breaks off after every second batch', (store: Storage) => new FailingStorage(store, 2)],
] as const)
  test(`over a store ${name}, whoever wrote reads it, and a watcher sees each change once`, async (t) => {
    const inner = new MemoryStorage(systemClock);
    const { cache } = await open(t, unsteady(inner));
    const cursor = cache.watch(cache.currentRevision(), '');
    const random = seeded(5);
    const log: [string, number][] = [];
    const seen: [string, number][] = [];
    for (let i = 0; i < 40; i++) {
      const key = `t${random(6)}`;
      const before = cache.get('', key);
      const text = before !== undefined && random(3) === 0 ? '' : `${i}`;
      const revision = await write(cache, key, text);
      assert.equal(textOf(cache, key), text === '' ? undefined : text);
      log.push([before === undefined ? 'ADDED' : text === '' ? 'DELETED' : 'MODIFIED', revision]);
      seen.push(...read(cursor));
    }
    assert.deepEqual(seen, log);
    await sameAsStore(cache, inner);
  });

test('a cache whose watch can not go on where it was lists anew, and says so to whoever watches or looks back', async (t) => {
  const inner = new MemoryStorage(systemClock);
  const storage = new FailingStorage(inner);
  const { cache, ends } = await open(t, storage);
  for (const name of ['kept', 'changed', 'gone']) await write(cache, name, 'before');
  const before = cache.currentRevision();
  const cursor = cache.watch(before, '');
  assert.deepEqual(read(cursor), []);
  let woken = 0;
  cursor.onEvent(() => woken++);
  const index = cache.get('', 'kept')?.index;

  storage.goAway();
  const other = (await open(t, inner)).cache;
  await write(other, 'changed', 'after');
  await write(other, 'gone', '');
  await write(other, 'new', 'after');
  await inner.compact(await inner.revision());
  assert.equal(textOf(cache, 'changed'), 'before', 'it can not know yet');
  await assert.rejects(async () => await cache.fresh(), { code: 504 }, 'and does not say that it does');
  storage.comeBack();

  await sameAsStore(cache, inner);
  assert.ok(ends.includes('failed') && ends.includes('compacted'), ends.join());
  assert.equal(cache.get('', 'kept')?.index, index, 'what is the same is kept');
  assert.equal(woken, 1);
  assert.throws(() => cursor.next(), CompactedError);
  assert.throws(() => cache.watch(before, ''), CompactedError);
  assert.throws(() => cache.list({ namespace: '', limit: 0, exactRevision: before }), CompactedError);
  const next = cache.watch(cache.currentRevision(), '');
  const revision = await write(cache, 'new', 'again');
  assert.deepEqual(read(next), [['MODIFIED', revision]]);
});

test('a watch that fell too far behind goes on where it was', async (t) => {
  const inner = new MemoryStorage(systemClock);
  const storage = new LaggingStorage(inner, 5);
  const { cache, ends } = await open(t, storage);
  const cursor = cache.watch(cache.currentRevision(), '');
  const other = (await open(t, inner)).cache;
  storage.hold();
  const log: [string, number][] = [];
  for (let i = 0; i < 8; i++) log.push(['ADDED', await write(other, `t${i}`, 'x')]);
  storage.release();
  await sameAsStore(cache, inner);
  assert.deepEqual(ends, ['lagging']);
  assert.deepEqual(read(cursor), log);
});

test('what another server wrote is waited for, as long as upstream does', async (t) => {
  const inner = new MemoryStorage(systemClock);
  const storage = new LaggingStorage(inner);
  const clock = new FakeClock();
  const { cache } = await open(t, storage, clock);
  await cache.fresh();
  storage.hold();
  const other = (await open(t, inner)).cache;
  const revision = await write(other, 'a', '1');
  const late = assert.rejects(async () => await cache.fresh(), {
    message: `Timeout: Too large resource version: ${revision}, current: ${revision - 1}`,
  });
  for (let turn = 0; clock.pending === 0; turn++) {
    assert.ok(turn < 1_000, 'nobody waits');
    await new Promise((resolve) => setImmediate(resolve));
  }
  clock.advance(3_000);
  await late;
  const soon = cache.fresh();
  storage.release();
  await soon;
  assert.equal(textOf(cache, 'a'), '1');
});

test('whoever is refused waits for what stands against it, and is not refused for it again', async (t) => {
  const inner = new MemoryStorage(systemClock);
  const caches = [
    (await open(t, new LaggingStorage(inner))).cache,
    (await open(t, new LaggingStorage(inner))).cache,
  ];
  await write(caches[0]!, 'count', '0');
  await caches[1]!.fresh();
  let refused = 0;
  const increase = async (cache: ResourceCache): Promise<void> => {
    for (;;) {
      const { revision } = cache.get('', 'count')!;
      const next = draftOf('count', String(Number(textOf(cache, 'count')) + 1));
      const outcome = await cache.update('', 'count', ...next, revision);
      if (outcome.ok) return;
      refused++;
    }
  };
  for (let i = 0; i < 20; i++) await Promise.all(caches.map(increase));
  await sameAsStore(caches[0]!, inner);
  assert.equal(textOf(caches[0]!, 'count'), '40');
  assert.ok(refused > 0 && refused <= 40, `${refused} refusals`);
});

test('a write of which nobody knows whether it is stored is answered as by upstream, and seen if it is', async (t) => {
  const storage = new FailingStorage(new MemoryStorage(systemClock));
  const { cache } = await open(t, storage);
  const answer = {
    code: 504,
    reason: 'Timeout',
    message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
  };
  storage.loseAnswer('not stored');
  await assert.rejects(write(cache, 'a', '1'), answer);
  assert.equal(cache.get('', 'a'), undefined);
  storage.loseAnswer('stored');
  await assert.rejects(write(cache, 'a', '1'), answer);
  await cache.fresh();
  assert.equal(textOf(cache, 'a'), '1');
});
