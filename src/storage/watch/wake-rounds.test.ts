// Rounds of wake-ups: few watchers at once, many in slices, and nobody is forgotten.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WakeRounds } from './wake-rounds.ts';

function sleepers(count: number): { all: Set<{ woken: number; wake(): void }>; woken(): number[] } {
  const all = new Set(
    Array.from({ length: count }, () => ({
      woken: 0,
      wake() {
        this.woken++;
      },
    })),
  );
  return { all, woken: () => [...all].map((sleeper) => sleeper.woken) };
}

test('few watchers are woken at once', () => {
  const { all, woken } = sleepers(50);
  const rounds = new WakeRounds(all, () => assert.fail('nothing is left for later'));
  rounds.wake();
  rounds.wake();
  assert.deepEqual(new Set(woken()), new Set([2]));
});

test('many are woken in slices, and a wake-up in between costs one more round, not two', () => {
  const { all, woken } = sleepers(120);
  const later: (() => void)[] = [];
  const rounds = new WakeRounds(all, (run) => later.push(run));
  rounds.wake();
  assert.equal(woken().filter((times) => times === 1).length, 50);
  rounds.wake();
  rounds.wake();
  for (let run = later.shift(); run !== undefined; run = later.shift()) run();
  assert.deepEqual(new Set(woken()), new Set([2]));
});

test('who comes during a round is woken by the event that came after', () => {
  const { all } = sleepers(60);
  const later: (() => void)[] = [];
  const rounds = new WakeRounds(all, (run) => later.push(run));
  rounds.wake();
  const [late] = sleepers(1).all;
  all.add(late!);
  rounds.wake();
  for (let run = later.shift(); run !== undefined; run = later.shift()) run();
  assert.equal(late!.woken, 1);
});
