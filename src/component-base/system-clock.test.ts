// Times that are longer than a timer of Node can be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from './system-clock.ts';

/** What setTimeout takes for a millisecond when it is one more. */
const longest = 2 ** 31 - 1;
const months = 3 * longest + 5;

test('a timer of months runs after months: of a CronJob, a deadline, a probe', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let ran = 0;
  const stop = systemClock.timer(months, () => ran++);
  systemClock.timer(months, () => ran++);
  for (const step of [1000, longest - 1000, longest, longest, 4]) t.mock.timers.tick(step);
  assert.equal(ran, 0);
  stop();
  t.mock.timers.tick(1);
  assert.equal(ran, 1, 'one of them was cancelled');
});

test('a timer of the longest time of an int64, or without end, wakes nobody but itself, every 24 days', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const armed = t.mock.method(globalThis, 'setTimeout');
  let ran = 0;
  for (const ms of [2 ** 63 * 1000, Number.POSITIVE_INFINITY]) systemClock.timer(ms, () => ran++);
  for (let turn = 0; turn < 10; turn++) t.mock.timers.tick(longest);
  assert.equal(ran, 0);
  assert.deepEqual(
    armed.mock.calls.map(({ arguments: [, ms] }) => ms),
    Array.from({ length: 22 }, () => longest),
  );
});

/** What waits at a timer goes on in later turns. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
};

test('a sleep of months lasts months, and ends with its signal at any time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let woken = false;
  void systemClock.sleep(months).then(() => {
    woken = true;
  });
  const stop = new AbortController();
  const stopped = assert.rejects(systemClock.sleep(months, stop.signal), { name: 'AbortError' });
  for (const step of [longest, longest, longest]) t.mock.timers.tick(step);
  await settle();
  assert.equal(woken, false);
  stop.abort();
  await stopped;
  t.mock.timers.tick(5);
  await settle();
  assert.equal(woken, true);
  await assert.rejects(systemClock.sleep(1, stop.signal), { name: 'AbortError' });
});
