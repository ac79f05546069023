// Who brings much waits for itself alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairQueue } from './fair-queue.ts';

test('sources take turns, each in the order of its own', () => {
  const queue = new FairQueue<string>({ each: 10, all: 100 });
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) assert.ok(queue.put(item[0]!, item));
  assert.equal(queue.length, 6);
  assert.deepEqual(
    Array.from({ length: 7 }, () => queue.take()),
    ['a1', 'b1', 'c1', 'a2', 'c2', 'a3', undefined],
  );
  assert.equal(queue.length, 0);
});

test('a source that has its share is refused; one that has nothing waiting is not', () => {
  const queue = new FairQueue<number>({ each: 3, all: 4 });
  const put = (source: string): boolean => queue.put(source, 0);
  assert.deepEqual([put('a'), put('a'), put('a'), put('a')], [true, true, true, false]);
  assert.deepEqual([put('b'), put('b')], [true, false], 'all have four');
  assert.deepEqual(
    ['c', 'd', 'e', 'f', 'g'].map(put),
    [true, true, true, true, false],
    'never twice as many',
  );
  assert.equal(queue.length, 8);
});
