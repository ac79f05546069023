// What is kept of documents: the latest, within the budget.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentBytes } from './recent-bytes.ts';

test('what was asked for longest ago goes first; one that is larger than all the room is kept alone', () => {
  const kept = new RecentBytes(10);
  kept.put('a', Buffer.alloc(4));
  kept.put('b', Buffer.alloc(4));
  assert.ok(kept.get('a'));
  kept.put('c', Buffer.alloc(4));
  assert.deepEqual([kept.get('a')?.length, kept.get('b')?.length, kept.get('c')?.length], [4, undefined, 4]);
  kept.put('c', Buffer.alloc(6));
  assert.deepEqual([kept.get('a')?.length, kept.get('c')?.length], [4, 6]);
  kept.put('large', Buffer.alloc(20));
  assert.deepEqual([kept.get('a'), kept.get('c'), kept.get('large')?.length], [undefined, undefined, 20]);
  kept.put('d', Buffer.alloc(10));
  assert.deepEqual([kept.get('large'), kept.get('d')?.length], [undefined, 10]);
});
