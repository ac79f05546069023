// What is loaded when it is first asked for, while no file can be opened: it is there when some can be again, without a restart.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('metrics and YAML bodies come back after descriptors ran out', () => {
  const program = fileURLToPath(new URL('programs/few-descriptors.ts', import.meta.url));
  const { stdout, stderr } = spawnSync('prlimit', ['--nofile=128', process.execPath, program], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.notEqual(stdout, '', stderr);
  const { without, after } = JSON.parse(stdout) as Record<'without' | 'after', string[]>;
  assert.ok(!without.includes('ok'), String(without));
  assert.deepEqual(after, ['ok', 'ok']);
});
