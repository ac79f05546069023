// Whole clusters in virtual time, each out of a seed; `npm run bench -- simulation` runs thousands of them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SimulationResult, simulate, simulationText } from './simulate.ts';

/** A share of the seeds: two of each climate. More: PORTHOLE_SIMULATION_SEEDS. */
const seeds = Number(process.env['PORTHOLE_SIMULATION_SEEDS'] ?? 8);

const holds = (result: SimulationResult): void =>
  assert.equal(result.violations.length, 0, `\n${simulationText(result)}`);

test('whatever befalls a cluster, each step keeps what was promised, and it comes to rest as asked for', async (t) => {
  const asked = new Map<string, number>();
  for (let seed = 0; seed < seeds; seed++) {
    const result = await simulate({ seed });
    holds(result);
    for (const [name, count] of result.asked) asked.set(name, (asked.get(name) ?? 0) + count);
  }
  // One that nobody asks holds always.
  for (const name of invariants) assert.ok((asked.get(name) ?? 0) > 0, `nothing asked whether ${name}`);
  t.diagnostic(`${seeds} seeds: ${JSON.stringify(Object.fromEntries(asked))}`);
});

const invariants = [
  'a Deployment never has more than its surge',
  'a rollout never takes more than it may',
  'an eviction leaves what the budget asks for',
  'a pod is bound once',
  'a pod is bound to a node of its system',
  'a pod is bound to a node that takes it',
  'a node has room for its pods',
  'a DaemonSet has one pod on a node',
  'a Job runs no more than it may at once',
  'a Job completes no more than it is to',
  'a quota is never passed',
];

test('the same seed is the same story to the last write, another one is another', async () => {
  const [one, again, other] = [
    await simulate({ seed: 3 }),
    await simulate({ seed: 3 }),
    await simulate({ seed: 7 }),
  ];
  assert.equal(again.hash, one.hash);
  assert.equal(again.writes, one.writes);
  assert.notEqual(other.hash, one.hash);
});
