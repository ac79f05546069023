// Whole clusters in virtual time, each out of a seed: what must hold is asked at every write, and how fast that goes.
import { type SimulationResult, simulate, simulationText } from '../test/faults/simulation/simulate.ts';
import { type Bench, quantile } from './bench.ts';

const usualSeeds = 1000;
/** So many failures are told of in full. */
const mostTold = 5;

async function runSeeds(seeds: readonly number[]): Promise<SimulationResult[]> {
  const results: SimulationResult[] = [];
  let told = 0;
  for (const seed of seeds) {
    const result = await simulate({ seed, keep: seeds.length === 1 ? 100_000 : 60 });
    results.push(result);
    const isBad = result.violations.length > 0;
    if (seeds.length === 1) console.error(simulationText(result));
    else if (isBad && told++ < mostTold) console.error(simulationText(result));
    if (results.length % 100 === 0) console.error(`   ${results.length} seeds …`);
  }
  return results;
}

export const bench: Bench = {
  name: 'simulation',
  question: 'do controllers, scheduler and kubelets keep what they promise, whatever befalls them?',
  async run({ seed, seeds = usualSeeds }) {
    const list = seed === undefined ? Array.from({ length: seeds }, (_, i) => i) : [seed];
    const before = process.cpuUsage();
    const results = await runSeeds(list);
    const { system, user } = process.cpuUsage(before);
    const failed = results.filter(({ violations }) => violations.length > 0);
    if (failed.length > 0) process.exitCode = 1;
    const sum = (of: (result: SimulationResult) => number): number =>
      results.reduce((all, result) => all + of(result), 0);
    const asked = sum((result) => [...result.asked.values()].reduce((all, count) => all + count, 0));
    const converged = results.flatMap(({ convergedSeconds }) => convergedSeconds ?? []);
    return [
      {
        what: `of ${results.length} seeds, those that fail`,
        value: failed.length,
        unit: 'seeds',
        aim: { value: 0 },
      },
      { what: 'CPU of a seed', value: (user + system) / 1000 / results.length, unit: 'ms' },
      { what: 'virtual time', value: sum(({ virtualSeconds }) => virtualSeconds) / 3600, unit: 'h' },
      { what: 'writes of the store', value: sum(({ writes }) => writes), unit: 'writes' },
      { what: 'invariants asked at a write', value: asked, unit: 'times' },
      { what: 'all as asked for after the last repair, p50', value: quantile(converged, 0.5), unit: 's' },
      { what: '… longest', value: quantile(converged, 1), unit: 's', aim: { value: 1800 } },
    ];
  },
};
