// Runs test files with node:test in child processes and adds up the results.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { relative } from 'node:path';
import { createInterface } from 'node:readline';
import { compileCache } from './compile-cache.ts';
import type { FileTimes } from './file-times.ts';

export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

interface Line {
  event: 'pass' | 'fail' | 'skip' | 'took' | 'diagnostic' | 'stderr';
  name: string;
  file?: string;
  ms?: number;
  reason?: string;
  error?: string;
  text?: string;
  fileLevel?: boolean;
}

export interface RunFiles {
  readonly files: readonly string[];
  /** So many processes at once, one a file. */
  readonly concurrency: number;
  /** The files share so many processes instead, and each takes its turn: starting a Node costs more than most of them. */
  readonly shared?: number;
  /** Command line put before node: the namespace box of e2e tests. */
  readonly prefix?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** How much longer than that no test may end. */
  readonly patienceMs?: number;
  readonly namePatterns?: readonly string[];
  readonly verbose: boolean;
  readonly times?: FileTimes;
  /** Told each file whose tests all passed, none skipped, in a process that ended well. */
  readonly onPassed?: (file: string) => void;
}

export async function runFiles(options: RunFiles): Promise<Totals> {
  const { shared } = options;
  if (shared === undefined) return runProcess(options, []);
  const share = (_: unknown, own: number): Promise<Totals> =>
    runProcess({ ...options, files: options.files.filter((_, at) => at % shared === own) }, [
      '--test-isolation=none',
    ]);
  return sumOf(await Promise.all(Array.from({ length: shared }, share)));
}

const sumOf = (all: readonly Totals[]): Totals => ({
  passed: all.reduce((sum, { passed }) => sum + passed, 0),
  failed: all.reduce((sum, { failed }) => sum + failed, 0),
  skipped: all.reduce((sum, { skipped }) => sum + skipped, 0),
});

/** Of a run of its files by node:test. */
function commandOf(options: RunFiles, flags: readonly string[]): string[] {
  const reporter = new URL('./test-reporter.mjs', import.meta.url).href;
  return [
    ...(options.prefix ?? []),
    process.execPath,
    '--test',
    ...flags,
    `--test-reporter=${reporter}`,
    '--test-reporter-destination=stdout',
    `--test-concurrency=${options.concurrency}`,
    `--test-timeout=${options.timeoutMs}`,
    ...(options.namePatterns ?? []).map((pattern) => `--test-name-pattern=${pattern}`),
    ...options.files,
  ];
}

async function runProcess(options: RunFiles, flags: readonly string[]): Promise<Totals> {
  const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  if (options.files.length === 0) return totals;
  const args = commandOf(options, flags);
  const child = spawn(args[0]!, args.slice(1), {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...compileCache(), ...options.env, NODE_ENV: 'test' },
  });
  const silence = endWhenSilent(child, options.timeoutMs + (options.patienceMs ?? fiveMinutes), totals);
  const stderr = new Map<string, string>();
  const passed = new Set<string>();
  const otherwise = new Set<string>();
  let events = 0;
  for await (const text of createInterface({ input: child.stdout })) {
    silence.refresh();
    let line: Line;
    try {
      line = JSON.parse(text);
    } catch {
      console.log(text);
      continue;
    }
    const file = line.file ? relative(process.cwd(), line.file) : '';
    if (line.event === 'stderr') {
      stderr.set(file, `${stderr.get(file) ?? ''}${line.text ?? ''}`.slice(-20_000));
      continue;
    }
    if (line.event === 'took') {
      options.times?.add(file, (line.ms ?? 0) / 1000);
      continue;
    }
    if (line.event === 'diagnostic') {
      if (options.verbose) console.log(`      ${file}  ${line.text ?? ''}`);
      continue;
    }
    events++;
    (line.event === 'pass' ? passed : otherwise).add(file);
    if (line.event === 'pass') {
      totals.passed++;
      if (options.verbose) console.log(`ok    ${file}  ${line.name} (${line.ms} ms)`);
    } else if (line.event === 'skip') {
      totals.skipped++;
      console.log(`skip  ${file}  ${line.name}${line.reason ? `: ${line.reason}` : ''}`);
    } else {
      totals.failed++;
      console.log(`FAIL  ${file}  ${line.name}\n${indent(line.error ?? '')}`);
      const said = stderr.get(file);
      if (said) console.log(indent(`stderr of ${file}:\n${said.slice(-4000)}`));
    }
  }
  clearTimeout(silence);
  const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
  if (code === 0) for (const file of passed) if (!otherwise.has(file)) options.onPassed?.(file);
  if (code !== 0 && totals.failed === 0) {
    totals.failed++;
    console.log(
      `FAIL  ${options.files.map((f) => relative(process.cwd(), f)).join(' ')}: the runner ended with code ${code} after ${events} results`,
    );
  }
  return totals;
}

const fiveMinutes = 300_000;

/** A file whose tests have ended may hold a timer or a socket, and Node waits for it without end: it is ended, as a failure. */
const endWhenSilent = (child: ChildProcess, ms: number, totals: Totals): NodeJS.Timeout =>
  setTimeout(() => {
    totals.failed++;
    console.log(
      `FAIL  no test has ended for ${ms / 1000} s: a file does not end, or a test ignores its time`,
    );
    child.kill();
    // A box's first process ignores it, and all that is in the box ends with that.
    const hard = setTimeout(() => child.kill('SIGKILL'), Math.min(10_000, ms));
    child.once('exit', () => clearTimeout(hard));
  }, ms);

const indent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n');
