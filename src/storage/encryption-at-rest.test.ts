// Sealed values: the contract of a store holds over them, nothing plain is kept below, keys rotate, and lost keys are told.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../component-base/system-clock.ts';
import { EncryptedStorage, identityForm, type SealedForm } from './encryption-at-rest.ts';
import { MemoryStorage } from './memory/memory-storage.ts';
import type { Draft } from './storage.ts';
import { storageConformance } from './testing/storage-conformance.ts';

/** Turns bits: enough to see what is opened with which key, and where. */
function form(name: string, mask: number): SealedForm {
  const turn = (value: Uint8Array): Buffer => Buffer.from(value.map((byte) => byte ^ mask));
  return {
    prefix: Buffer.from(`k8s:enc:test:v1:${name}:`),
    seal: (value, place) => Buffer.concat([Buffer.from([place.length]), turn(value)]),
    open(sealed, place) {
      if (sealed[0] !== place.length) throw new Error('sealed elsewhere');
      return turn(sealed.subarray(1));
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
  const storage = new EncryptedStorage(
    inner,
    () => forms,
    (name, error) => void sealed.push(`${name}: ${error.message}`),
  );
  return { storage, sealed };
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

  test('a value that no key opens, or that lay elsewhere, is told by its key', async () => {
    const inner = new MemoryStorage(systemClock);
    await over(inner, one).storage.create(key, draft('v'));
    const other = over(inner, two, identityForm);
    assert.match((await other.storage.get(key))!.value.toString('latin1'), /^k8s:enc:test:v1:one:/);
    assert.deepEqual(other.sealed, [
      `${key}: the provided value does not match any of the supported transformers`,
    ]);
    const { value } = (await inner.get(key))!;
    await inner.create(`${key}-moved`, { bytes: value, revisionAt: -1 });
    const moved = over(inner, one);
    await moved.storage.get(`${key}-moved`);
    assert.deepEqual(moved.sealed, [`${key}-moved: sealed elsewhere`]);
    await inner.close();
  });
});
