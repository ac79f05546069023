// The benches' own tools: what --help lists, and the profile of a program that is measured.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const benches = new URL('../../bench/', import.meta.url);
const run = fileURLToPath(new URL('run.ts', benches));

test('--help lists every bench with its question, and the variables of the environment', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [run, '--help'], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  for (const file of globSync('*.bench.ts', { cwd: fileURLToPath(benches) }))
    assert.match(stdout, new RegExp(`^${basename(file, '.bench.ts')} +\\S.*[?]`, 'm'));
  assert.match(stdout, /^BENCH_PROFILE=DIR /m);
});

test('what is told nothing of is refused by name', () => {
  const { status, stderr } = spawnSync(process.execPath, [run, 'nothing'], { encoding: 'utf8' });
  assert.equal(status, 1);
  assert.match(stderr, /no benchmark nothing; there are: admission, /);
});

test('BENCH_PROFILE: each thread of a program that ends itself writes where its time went', () => {
  const directory = mkdtempSync(join(tmpdir(), 'porthole-bench-profile-'));
  try {
    const program = `
      import { Worker } from 'node:worker_threads';
      new Worker('for (let i = 0; i < 1e6; i++) Math.sqrt(i);', { eval: true }).once('exit', () => process.exit(0));
    `;
    const loader = new URL('harness/profile.ts', benches).href;
    const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: `--import=${loader}`, BENCH_PROFILE: directory },
    });
    assert.equal(status, 0, stderr);
    const files = readdirSync(directory);
    assert.equal(files.length, 2, files.join(' '));
    for (const file of files) {
      const { nodes } = JSON.parse(readFileSync(join(directory, file), 'utf8')) as { nodes: unknown[] };
      assert.ok(nodes.length > 1, file);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
