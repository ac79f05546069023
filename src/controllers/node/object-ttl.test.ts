// Steps by the number of nodes, with room to and fro.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ttlSeconds, ttlStep } from './object-ttl.ts';

const walk = (...counts: readonly number[]): number[] => {
  let step = 0;
  return counts.map((count) => {
    step = ttlStep(count, step);
    return ttlSeconds(step);
  });
};

test('more nodes, a longer time; a few less do not take it back', () => {
  assert.deepEqual(walk(1, 100, 101, 95, 89), [0, 0, 15, 15, 0]);
  assert.deepEqual(walk(501, 449, 1001, 899), [30, 15, 60, 30]);
  assert.deepEqual(walk(5000, 1800, 1799, 0), [300, 300, 60, 0]);
});
