// Which revision a read waits for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResourceCache } from '../../storage/watch/resource-cache.ts';
import { atLeast } from './list-options.ts';

test('a revision that is beyond the numbers of Node is told with all its digits', () => {
  const told: unknown[] = [];
  const cache = {
    currentRevision: () => 5,
    waitFor: async (_revision: number, text?: string) => void told.push(text),
  } as unknown as ResourceCache;
  atLeast(cache, '0018446744073709551615');
  atLeast(cache, '9007199254740993');
  assert.equal(atLeast(cache, '5'), undefined);
  assert.deepEqual(told, ['18446744073709551615', '9007199254740993']);
});
