// The ring of events: grows while all is fresh, forgets bursts, and tells watchers who fell off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '../../base/clock.ts';
import { CompactedError } from '../storage.ts';
import { EventRing, RingEvent } from './event-ring.ts';
import { HistoryBudget } from './history-budget.ts';
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

const sized = (revision: number, bytes: number): RingEvent =>
  new RingEvent(
    'ADDED',
    { key: `/k/${revision}`, value: Buffer.alloc(bytes), revision } as unknown as CachedObject,
    undefined,
  );

test('history is bounded in bytes, over all rings; who holds most forgets first, and its slow watcher is told', () => {
  const budget = new HistoryBudget(1_000_000);
  const [busy, quiet] = [new EventRing(clockAt(), 0, budget), new EventRing(clockAt(), 0, budget)];
  for (let i = 1; i <= 10; i++) quiet.push(sized(i, 1_000));
  const slow = cursorAt(busy, 0);
  for (let i = 11; i <= 1_000; i++) {
    busy.push(sized(i, 10_000));
    assert.ok(budget.used <= 1_000_000, `${budget.used} bytes after ${i}`);
  }
  assert.equal(quiet.next - quiet.first, 10);
  assert.equal(busy.next - busy.first, Math.floor((1_000_000 - 10 * 2_512) / 20_512));
  assert.throws(() => slow.next(), CompactedError);
  assert.equal(cursorAt(busy, busy.floor).next()?.revision, busy.floor + 1);
});

test('the newest event stays, however large it is', () => {
  const ring = new EventRing(clockAt(), 0, new HistoryBudget(1_000));
  for (let i = 1; i <= 3; i++) {
    const reader = cursorAt(ring, i - 1);
    ring.push(sized(i, 10_000));
    assert.equal(reader.next()?.revision, i);
  }
  assert.equal(ring.next - ring.first, 1);
});

test('rings that hold one large event each do not hold more than all may together', () => {
  const budget = new HistoryBudget(100_000);
  const rings = Array.from({ length: 50 }, () => new EventRing(clockAt(), 0, budget));
  const [small] = rings;
  for (let i = 1; i <= 20; i++) small!.push(sized(i, 100));
  rings.forEach((ring, i) => {
    ring.push(sized(100 + i, 10_000));
    assert.ok(budget.used <= 100_000, `${budget.used} bytes after ${i}`);
    assert.equal(ring.at(ring.next - 1).revision, 100 + i, 'the newest is there');
  });
  // What was forgotten is said to who is behind it.
  const empty = rings[10]!;
  assert.equal(empty.events, 0);
  assert.throws(() => empty.after(109), CompactedError);
  assert.equal(empty.after(110), empty.next);
});
