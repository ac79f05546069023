// How much of the past is kept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { defaultHistoryLimits, EventLog } from './event-log.ts';
import type { StorageEvent } from './storage.ts';

const put = (revision: number, bytes: number): StorageEvent => ({
  type: 'put',
  key: '/registry/core/configmaps/default/a',
  value: Buffer.alloc(bytes),
  revision,
  created: false,
  previous: undefined,
});
/** The revisions that a watch tells at once; or up to which it may not go back. */
async function told(log: EventLog, from: number): Promise<number[] | { compactedTo: number }> {
  const revisions: number[] = [];
  const watch = log.watch('/', from, (events) => {
    revisions.push(...events.map(({ revision }) => revision));
  });
  watch.close();
  const end = await watch.ended;
  return end.reason === 'compacted' ? { compactedTo: end.compactedTo } : revisions;
}

test('one large object that is written again and again is not kept in all its states', async () => {
  const log = new EventLog(new FakeClock(), defaultHistoryLimits, 0, assert.ifError);
  const megabyte = 1 << 20;
  for (let revision = 1; revision <= 500; revision++) log.publish([put(revision, megabyte)]);
  assert.equal(log.floor(), 500 - 64);
  assert.equal(log.forgottenBytes(), (500 - 64) * megabyte);
  assert.deepEqual(
    await told(log, 500 - 64),
    Array.from({ length: 64 }, (_, i) => 437 + i),
  );
  assert.deepEqual(await told(log, 500 - 65), { compactedTo: 500 - 64 });
  log.compact(498);
  assert.deepEqual(await told(log, 498), [499, 500]);
  log.compact(490);
  assert.deepEqual(await told(log, 490), { compactedTo: 498 }, 'what is forgotten does not come back');
  // The last event is kept, however large.
  log.publish([put(501, 100 * megabyte)]);
  assert.deepEqual(await told(log, 500), [501]);
});

test('small events are kept while they are fresh, and some for longer', () => {
  const clock = new FakeClock();
  const log = new EventLog(clock, { ...defaultHistoryLimits, minEvents: 10 }, 0, assert.ifError);
  for (let revision = 1; revision <= 100; revision++) log.publish([put(revision, 10)]);
  assert.equal(log.floor(), 0);
  clock.advance(defaultHistoryLimits.freshMs + 1);
  log.publish([put(101, 10)]);
  assert.equal(log.floor(), 91);
});
