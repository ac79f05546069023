// Everybody who waits is told once, and nobody who no longer does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ending } from './ending.ts';

const atOnce = { call: (run: () => void) => run() };

test('an end is told once to each who waits for it', () => {
  const ending = new Ending();
  const told: string[] = [];
  const stop = ending.onEnd(() => told.push('gone'));
  ending.onEnd(() => told.push('waits'));
  stop();
  assert.equal(ending.isOver, false);
  ending.end(atOnce);
  ending.end(atOnce);
  assert.equal(ending.isOver, true);
  ending.onEnd(() => told.push('too late'));
  assert.deepEqual(told, ['waits']);
});

test('where many wait it is over at once, and they are told a few a turn; whoever left meanwhile is not', () => {
  const ending = new Ending();
  const due: (() => void)[] = [];
  let told = 0;
  const stops = Array.from({ length: 1_000 }, () => ending.onEnd(() => void told++));
  ending.end({ call: (run) => void due.push(run) });
  assert.equal(ending.isOver, true);
  assert.deepEqual([told, due.length], [64, 1]);
  for (const stop of stops.slice(900)) stop();
  for (let run = due.shift(); run !== undefined; run = due.shift()) {
    const before = told;
    run();
    assert.ok(told - before <= 64);
  }
  assert.equal(told, 900);
});
