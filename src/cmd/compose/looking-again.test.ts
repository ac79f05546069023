// How often what no plugin opens is looked at again.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { LookingAgain } from './looking-again.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** At which seconds it looks in the first `seconds` after something could not be opened. */
async function looks(seconds: number, leftAfter: (look: number) => number, tookMs = 0): Promise<number[]> {
  const clock = new FakeClock();
  const began = clock.monotonic();
  const at: number[] = [];
  const looking = new LookingAgain(clock, async () => {
    at.push((clock.monotonic() - began) / 1000);
    if (tookMs > 0) await clock.sleep(tookMs);
    return leftAfter(at.length);
  });
  looking.soon();
  looking.soon();
  while (clock.monotonic() < began + seconds * 1000) {
    clock.advance(500);
    await settled();
  }
  looking.stop();
  assert.equal(clock.pending, 0);
  return at;
}

test('what stays closed is looked at less and less often, and what is open no more', async () => {
  assert.deepEqual(await looks(40, () => 5), [1, 2, 4, 8, 16, 26, 36]);
  assert.deepEqual(await looks(40, (look) => (look < 3 ? 5 : 0)), [1, 2, 4]);
});

test('when something was opened the rest is looked at as soon as at first', async () => {
  assert.deepEqual(
    await looks(20, (look) => (look < 5 ? 5 : Math.max(0, 9 - look))),
    [1, 2, 4, 8, 16, 17, 18, 19, 20],
  );
});

test('a plugin that takes its time is left alone for longer, up to a minute', async () => {
  assert.deepEqual(await looks(100, () => 5, 3_000), [1, 31, 61, 91]);
  assert.deepEqual(await looks(150, () => 5, 20_000), [1, 81]);
});
