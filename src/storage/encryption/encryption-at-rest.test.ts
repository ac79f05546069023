// Sealed values: the contract of a store holds over them, nothing plain is kept below, keys rotate, and lost keys are told.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import { MemoryStorage } from '../memory/memory-storage.ts';
import type { Draft, StorageEvent } from '../storage.ts';
import { storageConformance } from '../testing/storage-conformance.ts';
import { EncryptedStorage } from './encryption-at-rest.ts';
import { identityForm, keyForm, keysForm, type SealedForm } from './sealed-forms.ts';

/** Turns bits: enough to see what is opened with which key, and where. */
function form(name: string, mask: number): SealedForm {
  const turn = (value: Uint8Array): Buffer => Buffer.from(value.map((byte) => byte ^ mask));
  return {
    prefix: Buffer.from(`k8s:enc:test:v1:${name}:`),
    lies: () => `${name}:${mask}`,
    seal: (value, place) => Buffer.concat([Buffer.from([place.length]), turn(value)]),
    open(sealed, place) {
      if (sealed[0] !== place.length) throw new Error('sealed elsewhere');
      return { plain: turn(sealed.subarray(1)), lies: `${name}:${mask}` };
    },
  };
}
const one = form('one', 0xff);
const two = form('two', 0x55);

const draft = (data: string, gap = 0): Draft => {
  const head = '{"kind":"Secret","metadata":{"resourceVersion":"';
  const bytes = Buffer.from(`${head}${'0'.repeat(gap)}"},"data":"${data}"}`);
  return { bytes, revisionAt: head.length, gap };
};
const key = '/registry/core/secrets/default/a';
const dataOf = (value: Buffer | undefined): unknown => JSON.parse(value!.toString());

function over(inner: MemoryStorage, ...forms: SealedForm[]) {
  const sealed: string[] = [];
  const unsealed: string[] = [];
  const storage = new EncryptedStorage(inner, () => forms, {
    onSealed: (name, error) => void sealed.push(`${name}: ${error.message}`),
    onUnsealed: (name, error) => void unsealed.push(`${name}: ${error.message}`),
  });
  return { storage, sealed, unsealed };
}

storageConformance({
  name: 'EncryptedStorage',
  open: async (clock) => over(new MemoryStorage(clock), one).storage,
});

describe('EncryptedStorage', () => {
  test('nothing plain is below it; what it answers, lists and tells has its revision', async () => {
    const inner = new MemoryStorage(systemClock);
    const { storage } = over(inner, one);
    const told: unknown[] = [];
    storage.watch('', storage.revision() as number, (events) => {
      for (const { type, value, previous } of events)
        told.push([type, dataOf(value), previous && dataOf(previous.value)]);
    });
    const created = await storage.create(key, draft('hunter2', 1));
    assert.ok(created.ok);
    const state = (revision: number, data: string): object => ({
      kind: 'Secret',
      metadata: { resourceVersion: String(revision) },
      data,
    });
    const { revision } = created.entry;
    assert.deepEqual(dataOf(created.entry.value), state(revision, 'hunter2'));
    const updated = await storage.update(key, draft('hunter3'), revision);
    assert.ok(updated.ok);
    const below = await inner.get(key);
    assert.match(below!.value.toString('latin1'), /^k8s:enc:test:v1:one:/);
    assert.ok(!below!.value.includes('hunter') && !below!.value.includes('kind'));
    assert.deepEqual(dataOf((await storage.get(key))?.value), state(revision + 1, 'hunter3'));
    assert.deepEqual(dataOf((await storage.list('')).entries[0]?.value), state(revision + 1, 'hunter3'));
    const conflict = await storage.update(key, draft('x'), revision);
    assert.ok(!conflict.ok);
    assert.deepEqual(dataOf(conflict.current?.value), state(revision + 1, 'hunter3'));
    const deleted = await storage.delete(key, draft('hunter3'), revision + 1);
    assert.ok(deleted.ok);
    assert.deepEqual(told, [
      ['put', state(revision, 'hunter2'), undefined],
      ['put', state(revision + 1, 'hunter3'), state(revision, 'hunter2')],
      ['delete', state(revision + 2, 'hunter3'), state(revision + 1, 'hunter3')],
    ]);
    await storage.close();
  });

  test('a key whose name is not ASCII opens what it wrote', async () => {
    const inner = new MemoryStorage(systemClock);
    const { storage, sealed } = over(inner, two, form('schlüssel', 0x0f));
    await over(inner, form('schlüssel', 0x0f)).storage.create(key, draft('v'));
    assert.deepEqual((dataOf((await storage.get(key))?.value) as { data: string }).data, 'v');
    assert.deepEqual(sealed, []);
    await storage.close();
  });

  test('a new first key writes, the old one still reads; a write again moves the value, also back to plain', async () => {
    const inner = new MemoryStorage(systemClock);
    const before = await over(inner, one).storage.create(key, draft('v'));
    assert.ok(before.ok);
    const { storage } = over(inner, two, one, identityForm);
    assert.deepEqual((dataOf((await storage.get(key))?.value) as { data: string }).data, 'v');
    const again = await storage.update(key, draft('v'), before.entry.revision);
    assert.ok(again.ok);
    assert.match((await inner.get(key))!.value.toString('latin1'), /^k8s:enc:test:v1:two:/);
    const plain = over(inner, identityForm, two).storage;
    assert.deepEqual((dataOf((await plain.get(key))?.value) as { data: string }).data, 'v');
    assert.ok((await plain.update(key, draft('v'), again.entry.revision)).ok);
    assert.match((await inner.get(key))!.value.toString('latin1'), /^\{"kind":"Secret"/);
    await storage.close();
  });

  test('a value that no key opens, or that lay elsewhere, has a fault and no bytes, and is told once', async () => {
    const inner = new MemoryStorage(systemClock);
    await over(inner, one).storage.create(key, draft('v'));
    const other = over(inner, two, identityForm);
    const { value: nothing, fault } = (await other.storage.get(key))!;
    assert.deepEqual([nothing.length, fault], [0, 'no matching prefix found']);
    assert.equal((await other.storage.list('')).entries[0]?.fault, fault);
    assert.deepEqual(other.sealed, [`${key}: no matching prefix found`]);
    const { value } = (await inner.get(key))!;
    await inner.create(`${key}-moved`, { bytes: value, revisionAt: -1 });
    const moved = over(inner, one);
    assert.equal((await moved.storage.get(`${key}-moved`))?.fault, 'sealed elsewhere');
    assert.deepEqual(moved.sealed, [`${key}-moved: sealed elsewhere`]);
    const refused = await other.storage.create(key, draft('w'));
    assert.ok(!refused.ok && refused.current.value.length === 0);
    await inner.close();
  });

  test('a plain value is none where identity is no provider', async () => {
    const inner = new MemoryStorage(systemClock);
    await inner.create(key, draft('planted'));
    const { storage } = over(inner, one);
    assert.equal((await storage.get(key))?.fault, 'no matching prefix found');
    assert.equal((await over(inner, one, identityForm).storage.get(key))?.fault, undefined);
    await storage.close();
  });

  test('what lies otherwise than it would be written is stale, until it is written again', async () => {
    const inner = new MemoryStorage(systemClock);
    const first = await over(inner, one).storage.create(key, draft('v'));
    assert.ok(first.ok);
    const forms = [one];
    const storage = new EncryptedStorage(inner, () => forms, { onSealed: () => {} });
    await storage.get(key);
    assert.equal(storage.isStale(key), false);
    forms.unshift(two);
    assert.equal(storage.isStale(key), true, 'the forms are others now');
    await storage.update(key, draft('v'), first.entry.revision);
    assert.equal(storage.isStale(key), false);
    forms.unshift(identityForm);
    assert.equal(storage.isStale(key), true, 'back to plain');
    await storage.close();
  });

  test('a move to another form is told, and nothing else is; pages of a long list are known, too', async () => {
    const inner = new MemoryStorage(systemClock);
    const before = over(inner, one).storage;
    const [first, second] = [
      await before.create(`${key}1`, draft('a')),
      await before.create(`${key}2`, draft('b')),
    ];
    assert.ok(first.ok && second.ok);
    const forms = [one];
    let moved = 0;
    const storage = new EncryptedStorage(inner, () => forms, { onSealed: () => {}, onMoved: () => moved++ });
    storage.watch('', 1, () => {});
    const { revision } = await storage.list('', { limit: 1 });
    await storage.list('', { revision, after: `${key}1` });
    assert.equal(storage.isStale(`${key}2`), false);
    const again = await storage.update(`${key}1`, draft('c'), first.entry.revision);
    assert.ok(again.ok);
    await storage.create(`${key}3`, draft('d'));
    await storage.delete(`${key}2`, draft('b'), second.entry.revision);
    assert.equal(moved, 0);
    forms.unshift(two);
    await storage.update(`${key}1`, draft('c'), again.entry.revision);
    assert.equal(moved, 1);
    await storage.close();
  });

  test('providers of the same prefix are all tried, and tell each what they have against it', async () => {
    const keys = (byte: number): SealedForm =>
      keysForm(
        'k8s:enc:test:v1:',
        [
          keyForm('k', String(byte), {
            seal: (value) => Buffer.from([byte, ...value]),
            open(sealed) {
              if (sealed[0] !== byte) throw new Error(`not ${byte}`);
              return Buffer.from(sealed.subarray(1));
            },
          }),
        ],
        'no matching key was found',
      );
    const inner = new MemoryStorage(systemClock);
    await over(inner, keys(2)).storage.create(key, draft('v'));
    const faultOf = async (...forms: SealedForm[]): Promise<string | undefined> =>
      (await over(inner, ...forms).storage.get(key))?.fault;
    assert.equal(await faultOf(keys(1), keys(2)), undefined);
    assert.equal(await faultOf(keys(1)), 'not 1');
    assert.equal(await faultOf(identityForm, keys(1), keys(3), keys(3)), '[not 1, not 3]');
    const { value } = (await inner.get(key))!;
    value.write('X', 'k8s:enc:test:v1:'.length);
    assert.equal(await faultOf(keys(2)), 'no matching key was found');
    await inner.close();
  });

  test('events come in order though a key must be asked for first, also before the end of the watch', async () => {
    const inner = new MemoryStorage(systemClock);
    const asked: (() => void)[] = [];
    const slow: SealedForm = {
      ...two,
      open: (sealed, place) =>
        new Promise((resolve) => asked.push(() => resolve(two.open(sealed, place) as never))),
    };
    const { storage } = over(inner, one, slow);
    const told: string[] = [];
    const watch = storage.watch('', 1, (events) => {
      for (const { value } of events) told.push((dataOf(value) as { data: string }).data);
    });
    await storage.create(`${key}1`, draft('a'));
    await over(inner, two).storage.create(`${key}2`, draft('b'));
    await storage.create(`${key}3`, draft('c'));
    assert.deepEqual(told, ['a']);
    await storage.close();
    for (const answer of asked) answer();
    assert.equal((await watch.ended).reason, 'closed');
    assert.deepEqual(told, ['a', 'b', 'c']);
  });

  test('who waits for a key longer than for 10,000 events begins anew where it was', async () => {
    const inner = new MemoryStorage(systemClock);
    const never: SealedForm = { ...two, open: () => new Promise(() => {}) };
    const told: StorageEvent[] = [];
    const { storage } = over(inner, one, never);
    const watch = storage.watch('', 1, (events) => told.push(...events));
    await over(inner, two).storage.create(`${key}-first`, draft('b'));
    for (let i = 0; i < 10_000; i++) await storage.create(`${key}${i}`, draft('a'));
    assert.equal((await watch.ended).reason, 'lagging');
    assert.deepEqual(told, []);
    await inner.close();
  });

  test('while nothing can be sealed nothing is written, and what is there can be deleted', async () => {
    const inner = new MemoryStorage(systemClock);
    const created = await over(inner, one).storage.create(key, draft('v'));
    assert.ok(created.ok);
    const broken: SealedForm = {
      ...one,
      seal: () => {
        throw new Error('expired');
      },
    };
    const { storage, unsealed } = over(inner, broken);
    const told: unknown[] = [];
    storage.watch('', created.entry.revision, (events) => {
      for (const { type, value } of events) told.push([type, dataOf(value)]);
    });
    await assert.rejects(storage.create(`${key}2`, draft('w')), { code: 'Unsealed', message: 'expired' });
    await assert.rejects(storage.update(key, draft('w'), created.entry.revision), /expired/);
    const refused = [`${key}2: expired`, `${key}: expired`];
    assert.deepEqual(unsealed, refused);
    const deleted = await storage.delete(key, draft('v'), created.entry.revision);
    assert.ok(deleted.ok);
    const metadata = { resourceVersion: String(deleted.entry.revision) };
    assert.deepEqual(told, [['delete', { kind: 'Secret', metadata, data: 'v' }]]);
    // A deletion goes on: it is no write that was refused.
    assert.deepEqual(unsealed, refused);
    await storage.close();
  });
});
