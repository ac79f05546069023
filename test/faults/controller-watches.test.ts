// What controllers watch comes late, twice, or not before they have looked anew, each informer by itself, and their process dies
// meanwhile at a write of any of them: what there is at the end is what there would have been.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../harness/seeded-random.ts';
import { calmLife, liveThrough, startMachine } from './controller-lives.ts';

/** More of them, and others: numbers. */
const lives = Number(process.env.PORTHOLE_TROUBLED_LIVES ?? 6);
const firstSeed = Number(process.env.PORTHOLE_TROUBLED_SEED ?? 1);
const side = 3;

test('controllers whose watches are troubled, and that die in the midst of it, come to the same end', async (t) => {
  const first = await startMachine(t);
  const { stages, writes } = await calmLife(first);
  const total = [...writes.values()].reduce((sum, count) => sum + count, 0);
  const machines = [first, ...(await Promise.all(Array.from({ length: side - 1 }, () => startMachine(t))))];
  const seeds = Array.from({ length: lives }, (_, i) => i + firstSeed).values();
  let struck = 0;
  await Promise.all(
    machines.map(async (machine) => {
      for (const seed of seeds) {
        const random = seededRandom(seed);
        const crash = { nth: 1 + random.below(total), moment: random.pick(['before', 'after'] as const) };
        if (await liveThrough(machine, { namespace: `troubled-${seed}`, crash, random }, stages)) struck++;
      }
    }),
  );
  assert.ok(struck > lives / 2, `${struck} of ${lives} died`);
  t.diagnostic(`${lives} lives, ${struck} with a death`);
});
