// V8 takes the setting while it runs: a flag that it no longer knew, or no longer looked at, would change nothing else.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { settleEngine } from './settle-engine.ts';

/** Of V8's `%GetOptimizationStatus`. */
const isTurboFanned = 1 << 5;

test('a function has its best code before the 3,000 calls that V8 waits for by itself', async () => {
  settleEngine();
  setFlagsFromString('--allow-natives-syntax');
  const statusOf = new Function('f', 'return %GetOptimizationStatus(f)') as (f: unknown) => number;
  const work = new Function('a', 'let s = 0; for (let i = 0; i < 20; i++) s += a.x * i; return s;') as (a: {
    readonly x: number;
  }) => number;
  let calls = 0;
  // It is compiled by another thread, and taken by the next calls.
  while (calls < 2_500 && (statusOf(work) & isTurboFanned) === 0) {
    work({ x: calls++ });
    if (calls % 4 === 0) await delay(1);
  }
  assert.ok(calls < 2_500, `${calls} calls`);
});

test('V8 knows each of the settings: of what it does not know it tells on the output for errors only', () => {
  const program = `import { settleEngine } from '${import.meta.resolve('./settle-engine.ts')}'; settleEngine();`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  assert.deepEqual([status, stderr], [0, '']);
});
