// The resource cache: lists at exact revisions, selectors, watches, and a model of random writes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import type { Draft } from '../storage.ts';
import { CompactedError } from '../storage.ts';
import { createCacheSource } from './cache-source.ts';
import type { IndexRecord, ResourceCache } from './resource-cache.ts';

interface Thing {
  metadata: { namespace: string; name: string; resourceVersion: string; labels: Record<string, string> };
  node: string;
}
const pods = { group: '', resource: 'pods' };
const indexOf = (object: unknown): IndexRecord => {
  const { metadata, node } = object as Thing;
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: '',
    labels: metadata.labels,
    fields: { 'metadata.name': metadata.name, 'spec.nodeName': node },
  };
};
function make(namespace: string, name: string, node = '', labels = {}): [Draft, Thing] {
  const thing: Thing = { metadata: { resourceVersion: '', namespace, name, labels }, node };
  const text = JSON.stringify(thing);
  const revisionAt = text.indexOf('"resourceVersion":"') + '"resourceVersion":"'.length;
  return [{ bytes: Buffer.from(text), revisionAt }, thing];
}
async function create(
  cache: ResourceCache,
  namespace: string,
  name: string,
  node = '',
  labels = {},
): Promise<number> {
  const result = await cache.create(namespace, name, ...make(namespace, name, node, labels));
  assert.ok(result.ok);
  return result.entry.revision;
}
const all = { namespace: '', limit: 0 };

test('ResourceCache reads its own writes and lists by namespace, label and node', async () => {
  const source = await createCacheSource(new MemoryStorage(systemClock), systemClock);
  const cache = source.cache(pods, indexOf);
  await create(cache, 'b', 'x', 'n1', { app: 'web' });
  await create(cache, 'a', 'y', 'n2');
  await create(cache, 'a', 'x', 'n1');
  await create(cache, 'a-b', 'x', 'n1');
  const keys = (options: Parameters<ResourceCache['list']>[0]): string[] =>
    cache.list(options).items.map((i) => i.key.slice('/registry/core/pods/'.length));
  assert.deepEqual(keys(all), ['a-b/x', 'a/x', 'a/y', 'b/x']);
  assert.deepEqual(keys({ ...all, namespace: 'a' }), ['a/x', 'a/y']);
  assert.deepEqual(keys({ ...all, matches: (i) => i.labels.app === 'web' }), ['b/x']);
  assert.deepEqual(keys({ ...all, exactField: { name: 'spec.nodeName', value: 'n1' } }), [
    'a-b/x',
    'a/x',
    'b/x',
  ]);
  assert.deepEqual(keys({ ...all, namespace: 'a', exactField: { name: 'spec.nodeName', value: 'n1' } }), [
    'a/x',
  ]);
  const moved = cache.get('a', 'x');
  await cache.update('a', 'x', ...make('a', 'x', 'n2'), moved!.revision);
  assert.deepEqual(keys({ ...all, exactField: { name: 'spec.nodeName', value: 'n2' } }), ['a/x', 'a/y']);
  assert.equal(cache.count(), 4);
  source.close();
});

test('what is written while selectors get other names is found by those', async () => {
  const storage = new MemoryStorage(systemClock);
  const under = Promise.withResolvers<void>();
  const storing = storage.create.bind(storage);
  storage.create = async (key, draft) => {
    await under.promise;
    return await storing(key, draft);
  };
  const source = await createCacheSource(storage, systemClock);
  const written = create(source.cache(pods, indexOf), 'n', 'a', 'n1');
  const cache = source.cache(pods, (object) => {
    const { fields, ...more } = indexOf(object);
    return { ...more, fields: { ...fields, 'spec.place': (object as Thing).node } };
  });
  under.resolve();
  await written;
  const { items } = cache.list({ ...all, exactField: { name: 'spec.place', value: 'n1' } });
  assert.equal(items.length, 1);
  source.close();
});

test('pages of a list all show the revision of the first, whatever is written between', async () => {
  const source = await createCacheSource(new MemoryStorage(systemClock), systemClock);
  const cache = source.cache(pods, indexOf);
  for (const name of ['a', 'c', 'e', 'g']) await create(cache, 'n', name);
  const before = cache.list(all).items.map((i) => i.value.toString());
  const first = cache.list({ ...all, limit: 2 });
  assert.deepEqual(first.next?.remaining, 2);
  await create(cache, 'n', 'd');
  const e = cache.get('n', 'e')!;
  await cache.delete('n', 'e', ...make('n', 'e'), e.revision);
  const g = cache.get('n', 'g')!;
  await cache.update('n', 'g', ...make('n', 'g', 'moved'), g.revision);
  const second = cache.list({ ...all, limit: 2, after: first.next });
  assert.equal(second.next, undefined);
  assert.deepEqual(
    [...first.items, ...second.items].map((i) => i.value.toString()),
    before,
  );
  source.close();
});

test('watch gives every event after a revision once, bookmarks the newest, and falls off with CompactedError', async () => {
  const source = await createCacheSource(new MemoryStorage(systemClock), systemClock);
  const cache = source.cache(pods, indexOf);
  const from = await create(cache, 'a', '0');
  const cursor = cache.watch(from, 'a');
  assert.equal(cursor.next(), undefined);
  let woken = 0;
  cursor.onEvent(() => woken++);
  await create(cache, 'b', '1');
  const last = await create(cache, 'a', '2');
  assert.equal(woken, 1);
  const event = cursor.next();
  assert.deepEqual([event?.type, event?.object.index.name, event?.revision], ['ADDED', '2', last]);
  assert.equal(cursor.next(), undefined);
  const other = await create(source.cache({ group: 'apps', resource: 'deployments' }, indexOf), 'a', '3');
  assert.equal(cursor.next(), undefined);
  assert.equal(cursor.revision(), other);
  assert.throws(() => cache.watch(0, ''), CompactedError);
  cursor.close();
  source.close();
});

test('a list of one name looks at no other object, now and in the past', async () => {
  const source = await createCacheSource(new MemoryStorage(systemClock), systemClock);
  const cache = source.cache(pods, indexOf);
  const first = await create(cache, 'a', 'x');
  for (const name of ['y', 'z']) await create(cache, 'a', name);
  const asked: string[] = [];
  const matches = ({ name }: IndexRecord): boolean => {
    asked.push(name);
    return name === 'x' || name === 'y';
  };
  const keys = (name: string, more: object = {}): string[] =>
    cache
      .list({ namespace: 'a', name, matches, limit: 0, ...more })
      .items.map((i) => i.key.split('/').at(-1)!);
  assert.deepEqual(keys('x'), ['x']);
  assert.deepEqual(asked, ['x']);
  assert.deepEqual(keys('none'), []);
  assert.deepEqual(keys('z'), [], 'not what the selector refuses');
  assert.deepEqual(asked, ['x', 'z']);
  assert.deepEqual(keys('x', { exactRevision: first }), ['x']);
  const after = { key: '/registry/core/pods/a/x', revision: cache.currentRevision() };
  assert.deepEqual(keys('x', { after }), [], 'it was on the page before');
  source.close();
});

test('a cache made over a store with history resumes watches from before its start', async () => {
  const storage = new MemoryStorage(systemClock);
  const first = await createCacheSource(storage, systemClock);
  const cache = first.cache(pods, indexOf);
  const one = await create(cache, 'a', 'x', 'n1');
  await create(cache, 'a', 'y', 'n1');
  const x = cache.get('a', 'x')!;
  await cache.delete('a', 'x', ...make('a', 'x', 'n1'), x.revision);
  first.close();
  const second = (await createCacheSource(storage, systemClock)).cache(pods, indexOf);
  const cursor = second.watch(one, '');
  assert.deepEqual(
    [cursor.next()?.type, cursor.next()?.type, cursor.next()],
    ['ADDED', 'DELETED', undefined],
  );
  assert.deepEqual(
    second.list({ ...all, exactRevision: one }).items.map((i) => i.index.name),
    ['x'],
  );
});

test('waitFor resolves when the revision comes and rejects with 504 when it does not', async () => {
  let fire: (() => void) | undefined;
  const timer = (_ms: number, run: () => void): (() => void) => {
    fire = run;
    return () => {};
  };
  const clock = { ...systemClock, timer };
  const source = await createCacheSource(new MemoryStorage(systemClock), clock);
  const cache = source.cache(pods, indexOf);
  const coming = cache.waitFor(cache.currentRevision() + 1);
  await create(cache, 'a', 'x');
  await coming;
  const never = cache.waitFor(1_000);
  fire?.();
  await assert.rejects(never, { message: 'Timeout: Too large resource version: 1000, current: 2' });
  const largest = cache.waitFor(Number(2n ** 64n - 1n), String(2n ** 64n - 1n));
  fire?.();
  await assert.rejects(largest, { message: /version: 18446744073709551615, current: 2$/ });
  // After the end nobody waits, and no timer is left.
  source.close();
  fire = undefined;
  await assert.rejects(cache.waitFor(1_000), { message: /version: 1000, current: 2$/ });
  assert.equal(fire, undefined);
});

test('10,000 random writes leave cache, old lists and watches equal to a model', async () => {
  const source = await createCacheSource(new MemoryStorage(systemClock), systemClock);
  const cache = source.cache(pods, indexOf);
  const model = new Map<string, string>();
  const snapshots: { revision: number; state: string }[] = [];
  const show = (list: ReturnType<ResourceCache['list']>): string =>
    JSON.stringify(list.items.map((i) => [i.key, i.value.toString()]));
  const replay = new Map<string, string>();
  const cursor = cache.watch(cache.currentRevision(), '');
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  for (let i = 0; i < 10_000; i++) {
    const name = `p${random(700)}`;
    const current = cache.get('n', name);
    const [draft, thing] = make('n', name, `node${random(20)}`, { i: String(i) });
    const result =
      current === undefined
        ? await cache.create('n', name, draft, thing)
        : random(3) === 0
          ? await cache.delete('n', name, draft, thing, current.revision)
          : await cache.update('n', name, draft, thing, current.revision);
    assert.ok(result.ok);
    const key = result.entry.key;
    if (cache.get('n', name) === undefined) model.delete(key);
    else model.set(key, result.entry.value.toString());
    if (i > 9_000 && i % 200 === 0)
      snapshots.push({
        revision: result.entry.revision,
        state: JSON.stringify([...model].sort((a, b) => (a[0] < b[0] ? -1 : 1))),
      });
    for (let event = cursor.next(); event !== undefined; event = cursor.next()) {
      assert.equal(event.previous === undefined, event.type === 'ADDED');
      if (event.type === 'DELETED') replay.delete(event.object.key);
      else replay.set(event.object.key, event.object.value.toString());
    }
  }
  const sorted = (map: Map<string, string>): string =>
    JSON.stringify([...map].sort((a, b) => (a[0] < b[0] ? -1 : 1)));
  assert.equal(show(cache.list(all)), sorted(model));
  assert.equal(sorted(replay), sorted(model));
  for (const { revision, state } of snapshots)
    assert.equal(show(cache.list({ ...all, exactRevision: revision })), state);
  source.close();
});
