// When the keys of a lease are deleted: not before, one lease after the other, and again when it could not be done.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { Leases } from './leases.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('leases that end at once are ended one after the other, and each once', async () => {
  const clock = new FakeClock();
  const log: string[] = [];
  const done: (() => void)[] = [];
  const leases = new Leases(clock, (lease, keys) => {
    log.push(`${lease}: ${[...keys].join()}`);
    return new Promise((resolve) => done.push(resolve));
  });
  const [later, first, empty] = [leases.grant(2_000), leases.grant(1_000), leases.grant(500)];
  assert.equal(clock.pending, 1, 'one timer');
  leases.attach(later, '/c');
  leases.attach(first, '/a');
  leases.attach(first, '/b');
  clock.advance(499);
  assert.equal(leases.timeToLive(empty), 1);
  clock.advance(5_000);
  await settled();
  assert.deepEqual(log, [`${first}: /a,/b`]);
  assert.throws(() => leases.attach(first, '/late'), { code: 'NoLease' });
  done.shift()?.();
  await settled();
  assert.deepEqual(log.slice(1), [`${later}: /c`]);
  done.shift()?.();
  await settled();
  assert.equal(clock.pending, 0);
  assert.equal(leases.timeToLive(later), undefined);
});

test('what could not be deleted is tried again, and not after the end', async () => {
  const clock = new FakeClock();
  let tried = 0;
  const leases = new Leases(clock, async () => {
    if (++tried < 3) throw new Error('no space');
  });
  leases.attach(leases.grant(1_000), '/a');
  clock.advance(1_000);
  await settled();
  assert.deepEqual([tried, clock.pending], [1, 1]);
  clock.advance(10_000);
  await settled();
  clock.advance(10_000);
  await settled();
  assert.deepEqual([tried, clock.pending], [3, 0]);
  leases.attach(leases.grant(1_000), '/b');
  leases.close();
  clock.advance(60_000);
  await settled();
  assert.equal(tried, 3);
});
