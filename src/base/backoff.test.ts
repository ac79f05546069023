// Each wait is twice the one before, and none is longer than the bound.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffMs } from './backoff.ts';

test('waits double up to the longest, however many failures there were', () => {
  const backoff = { firstMs: 500, longestMs: 60_000 };
  const waits = [0, 1, 2, 3, 7, 8, 9, 5_000].map((failures) => backoffMs(backoff, failures));
  assert.deepEqual(waits, [500, 500, 1_000, 2_000, 32_000, 60_000, 60_000, 60_000]);
});
