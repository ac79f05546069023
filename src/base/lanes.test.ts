// What waits for what when work comes by key.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Lanes } from './lanes.ts';

test('work of one key is done in order, that of other keys beside it, and never more than a few', async () => {
  const lanes = new Lanes(2);
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (key: string, name: string): void =>
    lanes.add(key, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string): Promise<void> => {
    ends.get(name)!();
    await new Promise(setImmediate);
  };
  add('a', 'a1');
  add('a', 'a2');
  add('a', 'a3');
  add('b', 'b1');
  add('c', 'c1');
  assert.deepEqual(begun, ['a1', 'b1']);
  await end('b1');
  assert.deepEqual(begun, ['a1', 'b1', 'c1'], 'who waits for its own key lets others pass');
  await end('a1');
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2']);
  await end('c1');
  await end('a2');
  assert.deepEqual(begun, ['a1', 'b1', 'c1', 'a2', 'a3']);
  await end('a3');
  add('a', 'a4');
  assert.equal(begun.at(-1), 'a4');
});
