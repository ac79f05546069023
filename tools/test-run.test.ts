// A run of tests that says nothing any more is ended, whether it takes that or not, and counts as a failure.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { runFiles, type Totals } from './test-run.ts';

const silent = 'setInterval(() => {}, 1000)';

/** Instead of node:test a process runs `script`, told nothing of it. */
async function run(t: TestContext, script: string): Promise<{ totals: Totals; said: string[]; pid: number }> {
  const said: string[] = [];
  t.mock.method(console, 'log', (text: string) => void said.push(text));
  const totals = await runFiles({
    files: ['none.test.ts'],
    concurrency: 1,
    prefix: [process.execPath, '-e', `console.log('pid', process.pid); ${script}`, '--'],
    timeoutMs: 2000,
    patienceMs: 1000,
    verbose: false,
  });
  return { totals, said, pid: Number(said[0]?.replace('pid ', '')) };
}

const isGone = (pid: number): boolean => {
  try {
    return !process.kill(pid, 0);
  } catch {
    return true;
  }
};

for (const [what, script] of [
  ['one that takes that it is to end', silent],
  ['one that ignores it', `process.on('SIGTERM', () => {}); ${silent}`],
] as const)
  test(`a silent run is ended: ${what}`, async (t) => {
    const { totals, said, pid } = await run(t, script);
    assert.deepEqual(totals, { passed: 0, failed: 1, skipped: 0 });
    assert.match(said[1]!, /^FAIL {2}no test has ended for 3 s/);
    assert.ok(pid > 0 && isGone(pid));
  });

test('one that ends by itself is not waited for, nor ended', async (t) => {
  const { totals, said } = await run(t, 'process.exitCode = 3');
  assert.equal(totals.failed, 1);
  assert.match(said[1]!, /^FAIL {2}.*the runner ended with code 3 after 0 results$/);
  assert.equal(said.length, 2);
});
