// Everybody who waits is told once, and nobody who no longer does.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ending } from './ending.ts';

test('an end is told once to each who waits for it', () => {
  const ending = new Ending();
  const told: string[] = [];
  const stop = ending.onEnd(() => told.push('gone'));
  ending.onEnd(() => told.push('waits'));
  stop();
  assert.equal(ending.isOver, false);
  ending.end();
  ending.end();
  assert.equal(ending.isOver, true);
  ending.onEnd(() => told.push('too late'));
  assert.deepEqual(told, ['waits']);
});
