// What the user sees of steps that take a while, on a terminal and in a log.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createProgress } from './progress.ts';

function recorder(isTTY: boolean): { written: string; isTTY: boolean; write(text: string): void } {
  return {
    isTTY,
    written: '',
    write(text) {
      this.written += text;
    },
  };
}

test('a log gets a line a step, and details no more often than every two seconds', async () => {
  const output = recorder(false);
  let now = 0;
  const progress = createProgress(output, () => now);
  await progress.step('fetch', async (detail) => {
    for (let i = 0; i < 50; i++) {
      detail(`package ${i}`);
      now += 100;
    }
  });
  assert.equal(
    output.written,
    '      fetch: package 0\n      fetch: package 20\n      fetch: package 40\n  ✓ fetch (5.0 s)\n',
  );
});

test('a terminal shows the running step in one line', async () => {
  const output = recorder(true);
  const progress = createProgress(output, () => 0);
  await progress.step('fetch', async (detail) => detail('half'));
  assert.ok(!output.written.slice(0, -1).includes('\n'));
  assert.ok(output.written.endsWith('  ✓ fetch (0.0 s)\n'));
});

test('a step that fails is marked, and its error passed on', async () => {
  const output = recorder(false);
  const progress = createProgress(output, () => 0);
  await assert.rejects(
    progress.step('fetch', () => Promise.reject(new Error('no network'))),
    /no network/,
  );
  assert.equal(output.written, '  ✗ fetch\n');
});
