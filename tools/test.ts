// npm test [-- words]: all groups of tests; the last line says how many passed, failed, were skipped.
import { globSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { box } from '../test/harness/box.ts';
import { scratchListVariable } from '../test/harness/scratch.ts';
import { idleShare, inBoxes } from './box-lanes.ts';
import { endedChildrenSeconds, FileTimes } from './file-times.ts';
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
  console.log(
    'npm test [-- [--group unit|repo|integration|security|faults|e2e]… [--name <pattern>] [-v] [words of paths…]]',
  );
  process.exit(0);
}
const boxTimeoutMs = 600_000;
/** How often it is seen whether the processors are idle. */
const lookMs = 5_000;
/** More than a minute, the longest first: no lane is left with one of these when all others are done. */
const longest: readonly string[] = [
  'test/faults/supervision.e2e.ts',
  'test/faults/lost-tables.e2e.ts',
  'test/faults/clusters-side-by-side.e2e.ts',
  'test/faults/disk-errors.e2e.ts',
  'test/e2e/local-registry.e2e.ts',
  'test/e2e/windows-node.e2e.ts',
  'test/e2e/workloads.e2e.ts',
  'test/e2e/windows-images.e2e.ts',
  'test/e2e/windows-runtime.e2e.ts',
  'test/e2e/image-load.e2e.ts',
  'test/e2e/windows-programs.e2e.ts',
  'test/faults/full-node-disk.e2e.ts',
  'test/faults/cut-node-streams.e2e.ts',
  'test/e2e/examples.e2e.ts',
  'test/e2e/start-stop.e2e.ts',
  'test/e2e/linux-node.e2e.ts',
  'test/e2e/down-keep.e2e.ts',
  'test/e2e/node-add-remove.e2e.ts',
  'test/e2e/private-registries.e2e.ts',
  'test/e2e/services.e2e.ts',
  'test/e2e/kubectl.e2e.ts',
];
const own = { concurrency: 2 };
/** More than there are processors: some files wait for a lock, a thread, a child. */
const shared = { concurrency: 1, shared: 3 };
/** They read the same sources, which one process parses once. */
const together = { concurrency: 1, shared: 1 };
/** Files that end in `.e2e.ts` run on a prepared machine, each in a namespace box: those of all groups last, in one queue. */
const groups = {
  unit: { globs: ['src/**/*.test.ts', 'tools/**/*.test.ts'], timeoutMs: 60_000, processes: shared },
  repo: { globs: ['test/repo/**/*.test.ts'], timeoutMs: 120_000, processes: together },
  integration: {
    globs: ['test/integration/**/*.test.ts', 'test/conformance/**/*.test.ts'],
    timeoutMs: 120_000,
    processes: own,
  },
  security: {
    globs: ['test/security/**/*.test.ts', 'test/security/**/*.e2e.ts'],
    timeoutMs: boxTimeoutMs,
    processes: own,
  },
  faults: {
    globs: ['test/faults/**/*.test.ts', 'test/faults/**/*.e2e.ts'],
    timeoutMs: boxTimeoutMs,
    processes: own,
  },
  e2e: { globs: ['test/e2e/**/*.e2e.ts'], timeoutMs: boxTimeoutMs, processes: own },
} as const;
const chosen = (Object.keys(groups) as (keyof typeof groups)[]).filter(
  (g) => !values.group || values.group.includes(g),
);
const names = values.name ?? [];
const patterns = names.map((name) => new RegExp(name));
/** A file none of whose tests is asked for would still be begun, and node:test would not run what ends it. */
const hasName = (file: string): boolean => {
  if (patterns.length === 0) return true;
  const text = readFileSync(file, 'utf8');
  return patterns.some((pattern) => pattern.test(text));
};
const matches = (file: string): boolean => positionals.every((word) => file.includes(word)) && hasName(file);

const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
const add = (more: Totals): void => {
  totals.passed += more.passed;
  totals.failed += more.failed;
  totals.skipped += more.skipped;
};

const seconds = (from: number): string => ((performance.now() - from) / 1000).toFixed(1);

const times = new FileTimes();
/** Of boxes that have ended, as far as it was given to their files. */
let cpuSecondsTold = 0;

type RunOptions = Omit<Parameters<typeof runFiles>[0], 'files' | 'concurrency'>;

async function runInBox(file: string, list: string, options: RunOptions): Promise<void> {
  const from = performance.now();
  const env = { [scratchListVariable]: list };
  add(await runFiles({ ...options, files: [file], concurrency: 1, prefix: box(), env }));
  const cpuSecondsNow = endedChildrenSeconds();
  times.set(file, { seconds: (performance.now() - from) / 1000, cpuSeconds: cpuSecondsNow - cpuSecondsTold });
  cpuSecondsTold = cpuSecondsNow;
  for (const folder of await removeLeftovers(list)) console.log(`left behind by ${file}, removed: ${folder}`);
  console.log(`   ${file}: ${seconds(from)} s`);
}

async function runBoxed(files: readonly string[], options: RunOptions): Promise<void> {
  await removeLeftoversOfDeadRuns();
  await prepareTestMachine();
  cpuSecondsTold = endedChildrenSeconds();
  const ordered = [
    ...longest.filter((file) => files.includes(file)),
    ...files.filter((file) => !longest.includes(file)),
  ];
  await inBoxes(ordered, (file, number) => runInBox(file, scratchListOf(process.pid, number), options), {
    idle: idleShare(),
    now: () => performance.now(),
    lookAgain: () => delay(lookMs),
  });
}

// Clusters of tests are merged in here, not into what belongs to whoever runs the tests.
const kubeconfig = join(tmpdir(), `porthole-run-${process.pid}.kubeconfig`);
process.env['KUBECONFIG'] = kubeconfig;

const started = performance.now();
async function section(title: string, files: readonly string[], run: () => Promise<void>): Promise<void> {
  if (files.length === 0) return;
  const from = performance.now();
  const cpuBefore = endedChildrenSeconds();
  console.log(`\n== ${title}: ${files.length} files`);
  await run();
  const cpu = (endedChildrenSeconds() - cpuBefore).toFixed(0);
  console.log(`== ${title}: ${seconds(from)} s, ${cpu} s of processor time`);
}

const options = { verbose: values.verbose, namePatterns: names, times };
const boxed: string[] = [];
for (const name of chosen) {
  const { globs, timeoutMs, processes } = groups[name];
  const files = globs
    .flatMap((pattern) => globSync(pattern))
    .filter(matches)
    .sort();
  boxed.push(...files.filter((file) => file.endsWith('.e2e.ts')));
  const free = files.filter((file) => !file.endsWith('.e2e.ts'));
  await section(name, free, async () =>
    add(await runFiles({ ...options, timeoutMs, ...processes, files: free })),
  );
}
await section('in boxes', boxed, () => runBoxed(boxed, { ...options, timeoutMs: boxTimeoutMs }));
rmSync(kubeconfig, { force: true });
console.log(`\nslowest files:\n${times.slowest(15).join('\n')}`);
console.log(
  `\n${((performance.now() - started) / 1000).toFixed(0)} s, ${endedChildrenSeconds().toFixed(0)} s of processor time`,
);
console.log(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
process.exit(totals.failed === 0 && totals.passed > 0 ? 0 : 1);
