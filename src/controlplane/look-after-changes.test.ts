// When it is looked: at once, after changes, after failures, and not after the end.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import type { ResourceCache } from '../storage/watch/resource-cache.ts';
import { lookAfterChanges } from './look-after-changes.ts';

function looked(answer: (looks: number) => boolean | Promise<boolean>) {
  const clock = new FakeClock(0);
  const looks: number[] = [];
  let listener = (): void => {};
  let events = 0;
  let closed = 0;
  const cursor = {
    next: () => (events-- > 0 ? { object: { index: {} } } : undefined),
    onEvent(to: () => void) {
      listener = to;
    },
    close() {
      closed++;
    },
  };
  const cache = { currentRevision: () => 1, watch: () => cursor } as unknown as ResourceCache;
  const end = lookAfterChanges(clock, [cache], async () => {
    looks.push(clock.monotonic());
    return answer(looks.length);
  });
  const change = (): void => {
    events = 1;
    listener();
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return { clock, looks, end, change, settled, closed: () => closed };
}

test('what fails or rejects is done again, less and less often, until it works', async () => {
  const { clock, looks, settled } = looked((count) => {
    if (count === 2) throw new Error('storage is away');
    return count > 3;
  });
  await settled();
  for (const ms of [499, 1, 999, 1, 2_000]) {
    clock.advance(ms);
    await settled();
  }
  assert.deepEqual(looks, [0, 500, 1_500, 3_500]);
  assert.equal(clock.pending, 0);
});

test('a change is looked at once, also one that comes during a look, and puts an end to waiting', async () => {
  const slow = Promise.withResolvers<boolean>();
  const { clock, looks, change, settled } = looked((count) => (count === 2 ? slow.promise : count > 2));
  await settled();
  assert.equal(clock.pending, 1);
  change();
  await settled();
  assert.deepEqual([looks.length, clock.pending], [2, 0]);
  change();
  change();
  await settled();
  assert.equal(looks.length, 2, 'one at a time');
  slow.resolve(false);
  await settled();
  assert.deepEqual([looks.length, clock.pending], [3, 0]);
});

test('nothing is looked at after the end, and nothing followed', async () => {
  const { clock, looks, end, settled, closed } = looked(() => false);
  await settled();
  end();
  assert.deepEqual([clock.pending, closed()], [0, 1]);
  clock.advance(100_000);
  await settled();
  assert.equal(looks.length, 1);
});
