// When another box is started, and that all files get one.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { idleShare, inBoxes, startsAnotherBox } from './box-lanes.ts';

test('three boxes always, more while the processors are idle and the last start is over, never more than six', () => {
  const rows: [number, number, number, boolean][] = [
    [0, 0, 0, true],
    [2, 0, 0, true],
    [3, 0.2, 60_000, false],
    [3, 0.5, 60_000, true],
    [3, 0.5, 5_000, false],
    [5, 0.9, 60_000, true],
    [6, 1, 60_000, false],
  ];
  for (const [running, idle, sinceLastStartMs, starts] of rows)
    assert.equal(
      startsAnotherBox({ running, idle, sinceLastStartMs }),
      starts,
      `${running} ${idle} ${sinceLastStartMs}`,
    );
});

test('idle is what was idle since the look before, of all processors, if that was seconds ago', () => {
  const times = { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 };
  let now = [{ times }, { times }];
  const idle = idleShare(() => now);
  now = [{ times: { ...times, user: 3_600, sys: 2_400 } }, { times: { ...times, idle: 6_000 } }];
  assert.equal(idle(), 0.5);
  now = now.map(({ times }) => ({ times: { ...times, idle: times.idle + 1_000 } }));
  assert.equal(idle(), 0.5, 'a second says nothing new');
  now = now.map(({ times }) => ({ times: { ...times, idle: times.idle + 2_000 } }));
  assert.equal(idle(), 1);
});

/** A run in which each look takes five seconds and each box `looks` of them. */
async function runOf(files: readonly string[], looks: number, idle: number) {
  let ms = 0;
  let mostAtOnce = 0;
  const ran: string[] = [];
  const numbers = new Set<number>();
  const ends: { readonly atMs: number; end(): void }[] = [];
  await inBoxes(
    files,
    async (file, number) => {
      assert.ok(!numbers.has(number), 'two boxes at once have one number');
      numbers.add(number);
      mostAtOnce = Math.max(mostAtOnce, numbers.size);
      ran.push(file);
      await new Promise<void>((end) => ends.push({ atMs: ms + looks * 5_000, end }));
      numbers.delete(number);
    },
    {
      idle: () => idle,
      now: () => ms,
      lookAgain: async () => {
        ms += 5_000;
        for (const one of ends) if (one.atMs <= ms) one.end();
        await new Promise((resolve) => setImmediate(resolve));
      },
    },
  );
  return { ran, mostAtOnce, seconds: ms / 1000 };
}

test('every file gets a box once, in order; idle processors end the run sooner, busy ones get no more boxes', async () => {
  const files = Array.from({ length: 24 }, (_, i) => `${i}`);
  const busy = await runOf(files, 30, 0.1);
  const idle = await runOf(files, 30, 0.6);
  for (const { ran } of [busy, idle]) assert.deepEqual(ran, files);
  assert.deepEqual([busy.mostAtOnce, idle.mostAtOnce], [3, 6]);
  assert.ok(idle.seconds < 0.65 * busy.seconds, `${idle.seconds} ${busy.seconds}`);
});

test('a box that fails fails the run', async () => {
  const deps = { idle: () => 0, now: () => 0, lookAgain: () => new Promise<void>(() => {}) };
  await assert.rejects(
    inBoxes(['a', 'b'], async (file) => assert.notEqual(file, 'b'), deps),
    assert.AssertionError,
  );
});
