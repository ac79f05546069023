// npm run check [-- --all]: format, lint, types, import rules, generated files, unit and repository tests, all side by side.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { compileCache } from './compile-cache.ts';
import { importsDigest } from './imports-digest.ts';
import { notYetPassed } from './passed-tests.ts';
import { TestInputs } from './test-inputs.ts';
import { runFiles } from './test-run.ts';
import { changedFiles } from './unchanged.ts';

interface Step {
  readonly name: string;
  /** Shown when the step fails. */
  readonly repair: string;
  run(): Promise<{ ok: boolean; output: string }>;
}

/** What has been found good, and what it was found of, is not looked at again; CI has no such memory. */
const { values: asked } = parseArgs({ options: { all: { type: 'boolean', default: false } } });

const root = process.cwd();
const inputs = new TestInputs(root);

async function command(args: readonly string[]): Promise<{ ok: boolean; output: string }> {
  const child = spawn(args[0]!, args.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...compileCache() },
  });
  let output = '';
  child.stdout.on('data', (data: Buffer) => {
    output += data.toString();
  });
  child.stderr.on('data', (data: Buffer) => {
    output += data.toString();
  });
  const [code] = await once(child, 'close');
  return { ok: code === 0, output };
}

const typesSeen = '.cache/types.tsbuildinfo';
const bin = (name: string): string => `node_modules/.bin/${name}`;

/** None of its rules here looks from one file into another. */
async function biome(): Promise<{ ok: boolean; output: string }> {
  const files = globSync(['**/*.{ts,mjs}', '.*.mjs'], {
    exclude: ['**/node_modules', '.cache', 'dist', 'lib'],
  });
  const { changed, remember } = changedFiles({
    memory: '.cache/clean-files',
    settings: ['biome.json', 'node_modules/@biomejs/biome/package.json'],
    files,
  });
  const looked = asked.all ? files : changed;
  if (looked.length === 0) return { ok: true, output: '' };
  const args = ['check', '--error-on-warnings', '--no-errors-on-unmatched', ...looked];
  const result = await command([bin('biome'), ...args]);
  if (result.ok) remember();
  return result;
}

const programs = ['src', 'test', 'tools', 'bench', 'examples'];
const importsSeen = '.cache/imports';

/** They ask which file imports which; what else has changed in a file is nothing to them. */
async function importRules(): Promise<{ ok: boolean; output: string }> {
  const digest = importsDigest(root, programs);
  const seen = existsSync(importsSeen) && readFileSync(importsSeen, 'utf8') === digest;
  if (seen && !asked.all) return { ok: true, output: '' };
  const cruiser = 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs';
  const result = await command([
    process.execPath,
    cruiser,
    '--config',
    '.dependency-cruiser.mjs',
    ...programs,
  ]);
  // Without TypeScript 6 it reads no module and passes: a check that cannot fail is none.
  const modules = Number(/\((\d+) modules/.exec(result.output)?.[1] ?? 0);
  if (result.ok && modules <= 100)
    return { ok: false, output: `${result.output}\nonly ${modules} modules were read` };
  if (result.ok) writeFileSync(importsSeen, digest);
  return result;
}

const steps: readonly Step[] = [
  {
    name: 'format and lint',
    repair: 'npm run fix',
    run: biome,
  },
  {
    name: 'types',
    repair: 'see above',
    // What it found of files that are as they were, it remembers by their content.
    run: () =>
      command(['node_modules/ts7/bin/tsc', '-p', '.', '--incremental', '--tsBuildInfoFile', typesSeen]),
  },
  {
    name: 'import rules',
    repair: 'layers.mjs says which folder may import which',
    run: importRules,
  },
  {
    name: 'generated files are fresh',
    repair: 'npm run gen',
    run: () => command([process.execPath, 'tools/gen/all.ts', '--check']),
  },
  {
    name: 'unit tests',
    repair: 'see above',
    run: () => tests('.cache/passed-unit-tests', ['src/**/*.test.ts', 'tools/**/*.test.ts'], 3),
  },
  // In one process: they read the same sources, which it parses once.
  {
    name: 'repository tests',
    repair: 'see above',
    run: () => tests('.cache/passed-repository-tests', ['test/repo/**/*.test.ts'], 1),
  },
];

const seconds = (from: number): string => `${((performance.now() - from) / 1000).toFixed(1)} s`;

async function tests(
  memory: string,
  globs: readonly string[],
  shared: number,
): Promise<{ ok: boolean; output: string }> {
  const files = globs.flatMap((pattern) => globSync(pattern)).sort();
  const { run, remember } = notYetPassed({ root, inputs, memory, files, all: asked.all });
  const passed: string[] = [];
  const totals = await runFiles({
    files: run,
    concurrency: 1,
    shared,
    timeoutMs: 120_000,
    verbose: false,
    onPassed: (file) => passed.push(file),
  });
  remember(passed);
  const before = files.length - run.length;
  const rest = before === 0 ? '' : `; ${before} of ${files.length} files unchanged since they passed`;
  console.log(`      ${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped${rest}`);
  return { ok: totals.failed === 0 && totals.passed + before > 0, output: '' };
}

async function runStep(step: Step): Promise<boolean> {
  const from = performance.now();
  const { ok, output } = await step.run();
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${step.name} (${seconds(from)})`);
  if (!ok) console.log(`${output}\n      repair: ${step.repair}`);
  return ok;
}

mkdirSync('.cache', { recursive: true });
const started = performance.now();
const results = await Promise.all(steps.map(runStep));
const ok = results.every((one) => one);
console.log(`\n${ok ? 'ok' : 'not ok'} in ${seconds(started)}`);
process.exit(ok ? 0 : 1);
