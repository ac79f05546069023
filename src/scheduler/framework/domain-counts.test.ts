// Counts by domain, and copies that differ in few of them: as a plain map that is copied whole.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DomainCounts } from './domain-counts.ts';

test('a copy knows its changes and leaves the original alone', () => {
  const counts = new DomainCounts();
  assert.deepEqual([counts.least(), counts.isEmpty, counts.size], [Number.POSITIVE_INFINITY, true, 0]);
  for (const [domain, count] of [
    ['a', 3],
    ['b', 1],
    ['c', 2],
    ['d', 0],
  ] as const)
    counts.add(domain, count);
  const copy = counts.copy();
  copy.add('d', 2);
  assert.deepEqual([copy.least(), counts.least()], [1, 0]);
  copy.add('b', 1);
  assert.deepEqual([copy.least(), copy.get('b'), counts.get('b')], [2, 2, 1]);
  copy.add('a', -3);
  assert.deepEqual([copy.least(), copy.has('a'), counts.has('a')], [0, false, true]);
  copy.add('e', 1);
  assert.deepEqual([copy.size, counts.size, copy.get('f')], [5, 4, undefined]);
  const again = copy.copy();
  again.add('a', 1);
  assert.deepEqual([again.least(), copy.least()], [1, 0]);
});

test('nothing is left once all that was there is taken away', () => {
  const counts = new DomainCounts();
  counts.add('a', 1);
  const copy = counts.copy();
  copy.add('a', -1);
  assert.deepEqual([copy.isEmpty, counts.isEmpty], [true, false]);
  copy.add('b', 1);
  assert.equal(copy.isEmpty, false);
});
