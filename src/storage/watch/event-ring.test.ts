// The ring of events: grows while all is fresh, forgets bursts, and tells watchers who fell off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../base/clock.ts';
import { CompactedError } from '../storage.ts';
import { EventRing, RingEvent } from './event-ring.ts';
import type { CachedObject } from './resource-cache.ts';
import { RingCursor } from './watch-cursor.ts';

function clockAt(): Clock & { ms: number } {
  return {
    ms: 0,
    now() {
      return this.ms;
    },
    monotonic() {
      return this.ms;
    },
    sleep: () => Promise.resolve(),
    timer: () => () => {},
  };
}
const event = (revision: number): RingEvent =>
  new RingEvent(
    'ADDED',
    { key: `/k/${revision}`, value: Buffer.alloc(0), revision } as unknown as CachedObject,
    undefined,
  );
const cursorAt = (ring: EventRing, from: number): RingCursor =>
  new RingCursor(
    ring,
    from,
    '/k/',
    () => 0,
    () => {},
  );

test('EventRing keeps every fresh event, up to 102,400', () => {
  const ring = new EventRing(clockAt(), 0);
  for (let i = 1; i <= 102_400; i++) ring.push(event(i));
  assert.equal(ring.floor, 0);
  assert.equal(ring.at(ring.after(500)).revision, 501);
  ring.push(event(102_401));
  assert.equal(ring.floor, 1);
});

test('EventRing drops a stale burst but for the last thousand', () => {
  const clock = clockAt();
  const ring = new EventRing(clock, 0);
  for (let i = 1; i <= 50_000; i++) ring.push(event(i));
  clock.ms = 75_000;
  ring.push(event(50_001));
  assert.equal(ring.next - ring.first, 1_001);
  for (let i = 50_002; i <= 60_000; i++) ring.push(event(i));
  assert.equal(ring.at(ring.next - 1).revision, 60_000);
  assert.equal(ring.at(ring.after(55_000)).revision, 55_001);
});

test('a watcher that falls off the ring is told so, and one that keeps up sees all', () => {
  const clock = clockAt();
  const ring = new EventRing(clock, 0);
  const [slow, fast] = [cursorAt(ring, 0), cursorAt(ring, 0)];
  let seen = 0;
  for (let i = 1; i <= 5_000; i++) {
    clock.ms += 100;
    ring.push(event(i));
    assert.equal(fast.next()?.revision, ++seen);
  }
  assert.equal(fast.next(), undefined);
  assert.throws(() => slow.next(), CompactedError);
  assert.throws(() => cursorAt(ring, ring.floor - 1), CompactedError);
  assert.equal(cursorAt(ring, ring.floor).next()?.revision, ring.floor + 1);
});
