// Tests that passed and can read nothing that has changed since need not run again here. CI remembers nothing and runs all of them.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { release } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestInputs } from './test-inputs.ts';

export interface PassedTests {
  readonly root: string;
  readonly inputs: TestInputs;
  /** Where the memory lies. */
  readonly memory: string;
  readonly files: readonly string[];
  /** Runs those that have passed, too. */
  readonly all: boolean;
}

/** What decides for every test: its packages, what runs it, who it is. */
const ofAll = [
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tools/test-run.ts',
  'tools/test-reporter.mjs',
];
const installed = 'node_modules/.package-lock.json';

function surroundings(root: string): string {
  const hash = createHash('sha256');
  for (const name of [...ofAll, installed])
    hash
      .update(`${name}\0`)
      .update(existsSync(join(root, name)) ? readFileSync(join(root, name)) : '')
      .update('\0');
  hash.update([process.version, process.arch, release(), process.getuid?.() ?? ''].join('\0'));
  return hash.digest('hex');
}

/** The files to run, and how to remember those that passed. What they read counts as it was when `inputs` looked. */
export function notYetPassed({ root, inputs, memory, files, all }: PassedTests): {
  readonly run: readonly string[];
  remember(passed: readonly string[]): void;
} {
  const around = surroundings(root);
  const keys = new Map(files.map((file) => [file, `${file} ${around} ${inputs.digest(file)}`]));
  const known = new Set(existsSync(memory) ? readFileSync(memory, 'utf8').split('\n') : []);
  const run = all ? files : files.filter((file) => !known.has(keys.get(file)!));
  return {
    run,
    remember: (passed) => {
      const ran = new Set(run);
      const kept = [...files.filter((file) => !ran.has(file)), ...passed.filter((file) => ran.has(file))];
      mkdirSync(dirname(memory), { recursive: true });
      writeFileSync(memory, kept.map((file) => keys.get(file)!).join('\n'));
    },
  };
}
