// SortedMap against a plain Map that is sorted when looked at.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SortedMap } from './sorted-map.ts';

test('SortedMap equals a sorted Map after any series of writes', () => {
  let seed = 5;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (seed >>> 8) % below;
  };
  const map = new SortedMap<number>();
  const model = new Map<string, number>();
  for (let i = 0; i < 20_000; i++) {
    const key = `k${random(3_000)}`;
    if (random(3) === 0) assert.equal(map.delete(key), model.delete(key));
    else {
      map.set(key, i);
      model.set(key, i);
    }
    assert.equal(map.get(key), model.get(key));
  }
  const sorted = [...model].sort((a, b) => (a[0] < b[0] ? -1 : 1));
  assert.equal(map.size, model.size);
  assert.deepEqual([...map.from('')], sorted);
  assert.deepEqual(
    [...map.from('k2')],
    sorted.filter(([key]) => key >= 'k2'),
  );
  for (const key of model.keys()) map.delete(key);
  assert.deepEqual([...map.from('')], []);
});

test('walk stops when it is told to', () => {
  const map = new SortedMap<number>();
  for (let i = 0; i < 1_000; i++) map.set(String(i).padStart(4, '0'), i);
  const seen: number[] = [];
  map.walk('0300', (_key, value) => seen.push(value) < 3);
  assert.deepEqual(seen, [300, 301, 302]);
});
