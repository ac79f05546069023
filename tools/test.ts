// npm test [-- words]: unit, integration and e2e tests; the last line says how many passed, failed, were skipped.
import { globSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { box } from '../test/harness/box.ts';
import { scratchListVariable } from '../test/harness/scratch.ts';
import { removeLeftovers, removeLeftoversOfDeadRuns, scratchListOf } from './test-leftovers.ts';
import { prepareTestMachine } from './test-machine.ts';
import { runFiles, type Totals } from './test-run.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    group: { type: 'string', multiple: true },
    verbose: { type: 'boolean', short: 'v', default: false },
    name: { type: 'string', multiple: true },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('npm test [-- [--group unit|integration|repo|e2e]… [--name <pattern>] [-v] [words of paths…]]');
  process.exit(0);
}
const groups = {
  unit: { globs: ['src/**/*.test.ts', 'tools/**/*.test.ts'], timeoutMs: 60_000 },
  repo: { globs: ['test/repo/**/*.test.ts'], timeoutMs: 120_000 },
  integration: {
    globs: ['test/integration/**/*.test.ts', 'test/conformance/**/*.test.ts'],
    timeoutMs: 120_000,
  },
  e2e: { globs: ['test/e2e/**/*.e2e.ts'], timeoutMs: 600_000 },
} as const;
const chosen = (Object.keys(groups) as (keyof typeof groups)[]).filter(
  (g) => !values.group || values.group.includes(g),
);
const matches = (file: string): boolean => positionals.every((word) => file.includes(word));

const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
const add = (more: Totals): void => {
  totals.passed += more.passed;
  totals.failed += more.failed;
  totals.skipped += more.skipped;
};
const started = performance.now();
for (const name of chosen) {
  const group = groups[name];
  const files = group.globs
    .flatMap((pattern) => globSync(pattern))
    .filter(matches)
    .sort();
  if (files.length === 0) continue;
  const from = performance.now();
  console.log(`\n== ${name}: ${files.length} files`);
  const common = { timeoutMs: group.timeoutMs, verbose: values.verbose, namePatterns: values.name ?? [] };
  if (name !== 'e2e') add(await runFiles({ ...common, files, concurrency: 2 }));
  else {
    await removeLeftoversOfDeadRuns();
    await prepareTestMachine();
    const list = scratchListOf(process.pid);
    const env = { [scratchListVariable]: list };
    for (const file of files) {
      add(await runFiles({ ...common, files: [file], concurrency: 1, prefix: box(), env }));
      for (const folder of await removeLeftovers(list))
        console.log(`left behind by ${file}, removed: ${folder}`);
    }
  }
  console.log(`== ${name}: ${((performance.now() - from) / 1000).toFixed(1)} s`);
}
console.log(`\n${((performance.now() - started) / 1000).toFixed(0)} s`);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 && totals.passed > 0 ? 0 : 1);
