// Objects that nobody can open: an error where they are read, never a deletion, never their sealed bytes.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStatusError, StatusError } from '../../apimachinery/errors.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { EncryptedStorage } from '../encryption/encryption-at-rest.ts';
import { identityForm, keyForm, keysForm, type SealedForm } from '../encryption/sealed-forms.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import { CompactedError, type Draft, type Storage } from '../storage.ts';
import { createCacheSource } from './cache-source.ts';
import type { IndexRecord, ResourceCache } from './resource-cache.ts';

const secrets = { group: '', resource: 'secrets' };
const indexOf = (object: unknown): IndexRecord => {
  const { namespace, name } = object as { namespace: string; name: string };
  return { namespace, name, uid: '', labels: {}, fields: { 'metadata.name': name } };
};

function form(name: string, mask: number): SealedForm {
  const turn = (value: Uint8Array): Buffer => Buffer.from(value.map((byte) => byte ^ mask));
  return keysForm('k8s:enc:test:v1:', [keyForm(name, name, { seal: turn, open: turn })], 'no such key');
}
const [one, two] = [form('one', 0xff), form('two', 0x55)];

const over = (inner: Storage, ...forms: SealedForm[]): Storage =>
  new EncryptedStorage(inner, () => forms, { onSealed: () => {} });

function make(namespace: string, name: string): [Draft, object] {
  const text = `{"resourceVersion":"","namespace":"${namespace}","name":"${name}"}`;
  return [
    { bytes: Buffer.from(text), revisionAt: '{"resourceVersion":"'.length },
    { namespace, name },
  ];
}
const key = (namespace: string, name: string): string => `/registry/core/secrets/${namespace}/${name}`;
const all = { namespace: '', limit: 0 };
const names = (cache: ResourceCache, options: object = {}): string[] =>
  cache.list({ ...all, ...options }).items.map(({ index }) => index.name);

const sealed =
  (name: string) =>
  (error: unknown): boolean =>
    isStatusError(error, 'InternalError') &&
    error.code === 500 &&
    error.message ===
      `Internal error occurred: unable to transform key "/registry/secrets/default/${name}": no such key`;

async function begin(...forms: SealedForm[]) {
  const inner = new MemoryStorage(systemClock);
  const [ours, others] = [over(inner, ...forms), over(inner, two)];
  const source = await createCacheSource(ours, systemClock);
  return { inner, ours, others, source, cache: source.cache(secrets, indexOf) };
}

test('another server writes with a key that is not here: no deletion is told, and no byte of it is served', async () => {
  const { cache, others, source, ours } = await begin(one);
  const created = await cache.create('default', 'a', ...make('default', 'a'));
  assert.ok(created.ok);
  await cache.create('other', 'b', ...make('other', 'b'));
  const cursor = cache.watch(cache.currentRevision(), '');
  const written = await others.update(key('default', 'a'), make('default', 'a')[0], created.entry.revision);
  assert.ok(written.ok);
  assert.throws(() => cursor.next(), CompactedError, 'it must list anew');
  assert.equal(cache.get('default', 'a'), undefined);
  assert.deepEqual(cache.unreadable('default', 'a'), {
    key: key('default', 'a'),
    revision: written.entry.revision,
    fault: 'no such key',
  });
  assert.throws(() => cache.list(all), sealed('a'));
  assert.throws(() => cache.list({ ...all, namespace: 'default', name: 'a' }), sealed('a'));
  assert.throws(() => cache.list({ ...all, exactRevision: created.entry.revision }), CompactedError);
  assert.deepEqual(names(cache, { namespace: 'other' }), ['b']);
  assert.deepEqual(names(cache, { namespace: 'default', name: 'none' }), []);

  const later = cache.watch(cache.currentRevision(), '');
  const again = await ours.update(key('default', 'a'), make('default', 'a')[0], written.entry.revision);
  assert.ok(again.ok);
  assert.throws(() => later.next(), CompactedError, 'nobody knows what it was before');
  assert.deepEqual(names(cache), ['a', 'b']);
  assert.equal(cache.unreadable('default', 'a'), undefined);
  source.close();
});

test('a new object of another key fails lists until it is deleted; a page before it is served', async () => {
  const { cache, others, source } = await begin(one);
  for (const name of ['a', 'b', 'd']) await cache.create('default', name, ...make('default', name));
  const made = await others.create(key('default', 'c'), make('default', 'c')[0]);
  assert.ok(made.ok);
  const page = cache.list({ ...all, limit: 2 });
  assert.deepEqual(
    page.items.map(({ index }) => index.name),
    ['a', 'b'],
  );
  assert.throws(() => cache.list({ ...all, limit: 2, after: page.next }), sealed('c'));
  assert.throws(() => cache.list({ ...all, limit: 3 }), sealed('c'));
  await cache.deleteUnreadable('default', 'c');
  assert.deepEqual(names(cache), ['a', 'b', 'd']);
  source.close();
});

test('history of another key is not told after a restart, and what is left is told from where it can be', async () => {
  const inner = new MemoryStorage(systemClock);
  const before = over(inner, one);
  const first = await before.create(key('default', 'a'), make('default', 'a')[0]);
  assert.ok(first.ok);
  const gone = await before.create(key('default', 'gone'), make('default', 'gone')[0]);
  assert.ok(gone.ok);
  await before.delete(key('default', 'gone'), make('default', 'gone')[0], gone.entry.revision);
  // Rotated: all that is there now is written with the new key.
  const rotated = over(inner, two, one);
  const moved = await rotated.update(key('default', 'a'), make('default', 'a')[0], first.entry.revision);
  assert.ok(moved.ok);
  const after = await rotated.create(key('default', 'b'), make('default', 'b')[0]);
  assert.ok(after.ok);

  const source = await createCacheSource(over(inner, two), systemClock);
  const cache = source.cache(secrets, indexOf);
  assert.deepEqual(names(cache), ['a', 'b']);
  assert.throws(() => cache.watch(first.entry.revision, ''), CompactedError);
  assert.throws(() => cache.list({ ...all, exactRevision: first.entry.revision }), CompactedError);
  assert.deepEqual(names(cache, { exactRevision: moved.entry.revision }), ['a']);
  const event = cache.watch(moved.entry.revision, '').next();
  assert.deepEqual([event?.type, event?.object.index.name], ['ADDED', 'b']);
  source.close();
});

test('what could not be opened is looked at again when a key has come', async () => {
  const inner = new MemoryStorage(systemClock);
  await over(inner, two).create(key('default', 'a'), make('default', 'a')[0]);
  const forms = [one];
  const storage = new EncryptedStorage(inner, () => forms, { onSealed: () => {} });
  const source = await createCacheSource(storage, systemClock);
  const cache = source.cache(secrets, indexOf);
  await source.readAgain();
  assert.throws(() => names(cache), sealed('a'));
  forms.push(two);
  await source.readAgain();
  assert.deepEqual(names(cache), ['a']);
  assert.equal(cache.isStale('default', 'a'), true);
  source.close();
});

test('a plain object beside keys alone is an error, too', async () => {
  const inner = new MemoryStorage(systemClock);
  await inner.create(key('default', 'planted'), make('default', 'planted')[0]);
  const strict = (await createCacheSource(over(inner, one), systemClock)).cache(secrets, indexOf);
  assert.throws(
    () => names(strict),
    /unable to transform key "\/registry\/secrets\/default\/planted": no matching prefix found/,
  );
  const open = (await createCacheSource(over(inner, one, identityForm), systemClock)).cache(secrets, indexOf);
  assert.deepEqual(names(open), ['planted']);
});

test('a store that must be listed anew keeps what nobody can open apart', async () => {
  const inner = new MemoryStorage(systemClock);
  const ours = over(inner, one);
  const failing = Promise.withResolvers<void>();
  const watching = ours.watch.bind(ours);
  let watches = 0;
  ours.watch = (prefix, from, onEvents) => {
    // Two look for history; the third follows.
    if (++watches !== 3) return watching(prefix, from, onEvents);
    const ended = failing.promise.then(() => ({ reason: 'compacted', compactedTo: 1 }) as const);
    return { ended, close: () => {} };
  };
  const source = await createCacheSource(ours, systemClock);
  const cache = source.cache(secrets, indexOf);
  await over(inner, two).create(key('default', 'a'), make('default', 'a')[0]);
  await ours.create(key('default', 'b'), make('default', 'b')[0]);
  failing.resolve();
  await cache.waitFor(ours.revision() as number);
  assert.throws(() => names(cache), sealed('a'));
  assert.equal(cache.get('default', 'b')?.index.name, 'b');
  source.close();
});

test('a write that nothing can seal is refused as upstream does: in the words of its key alone, and as no fault that nobody foresaw', async () => {
  const broken: SealedForm = {
    ...one,
    seal: () => {
      throw new Error('got unexpected nil transformer');
    },
  };
  const { cache, source } = await begin(broken);
  const error: unknown = await cache.create('default', 'a', ...make('default', 'a')).then(
    () => 'written',
    (why: unknown) => why,
  );
  assert.ok(error instanceof StatusError, String(error));
  assert.deepEqual(
    [error.code, error.status.reason ?? '', error.message],
    [500, '', 'got unexpected nil transformer'],
  );
  source.close();
});
