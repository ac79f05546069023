// No pod has all the ways to the resolvers outside.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createForwardShares } from './forward-shares.ts';

test('a pod has its share, many pods have theirs, and one that has few on their way is always let through', () => {
  const shares = createForwardShares();
  const begin = (source: string, count: number): number =>
    Array.from({ length: count }, () => shares.begin(source)).filter(Boolean).length;
  assert.equal(begin('a', 500), 100);
  for (let i = 0; i < 7; i++) assert.equal(begin(`b${i}`, 500), 100);
  assert.equal(begin('c', 500), 8, '800 are on their way');
  shares.end('a');
  assert.equal(begin('c', 500), 0, 'still 800 and more');
  for (let i = 0; i < 8; i++) shares.end('a');
  assert.equal(begin('c', 500), 1);
  for (let i = 0; i < 25; i++) assert.ok(begin(`d${i}`, 8) > 0, `d${i}`);
  assert.equal(begin('e', 8), 0, '1000 are on their way');
});
