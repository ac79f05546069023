// A log leads to a disk: a process lives on when that is full, and says what it lost when it is not.
import assert from 'node:assert/strict';
import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const logger = new URL('./logger.ts', import.meta.url).href;
const lastNet = fileURLToPath(new URL('../cmd/last-net.ts', import.meta.url));

function run(script: string, stderr: number | 'pipe'): SpawnSyncReturns<string> {
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', stderr],
    timeout: 30_000,
  });
}

test('a process whose log is on a full disk goes on, also when nobody caught an error', () => {
  const full = openSync('/dev/full', 'w');
  try {
    const { status, stdout } = run(
      `import { createLogger } from '${logger}';
       import { installLastNet } from '${lastNet}';
       const log = createLogger({ name: 'full' });
       installLastNet({ process, log, clock: { monotonic: () => 0 }, errors: { inc: () => {} } });
       for (let i = 0; i < 3000; i++) log.error({ text: 'x'.repeat(1000) }, 'lost');
       setImmediate(() => { throw new Error('not caught'); });
       setTimeout(() => { log.info({}, 'once more'); console.log('alive', process.memoryUsage().rss < 300e6); }, 10);`,
      full,
    );
    assert.equal(stdout, 'alive true\n');
    assert.equal(status, 0);
  } finally {
    closeSync(full);
  }
});

test('what was lost is counted, and said once there is space again', () => {
  const { status, stderr } = run(
    `import fs from 'node:fs';
     import { syncBuiltinESMExports } from 'node:module';
     const real = fs.writeSync;
     let full = true;
     fs.writeSync = (...args) => { if (full) throw Object.assign(new Error('full'), { code: 'ENOSPC' }); return real(...args); };
     syncBuiltinESMExports();
     const { createLogger } = await import('${logger}');
     const log = createLogger();
     for (let i = 0; i < 2000; i++) log.info({ text: 'x'.repeat(1000) }, 'line ' + i);
     full = false;
     log.info({}, 'space again');`,
    'pipe',
  );
  assert.equal(status, 0);
  const messages = stderr
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  assert.equal(messages[0], 'line 0');
  const said = messages.find((one) => one.endsWith('lines before this one could not be written')) ?? '';
  const kept = messages.filter((one) => one.startsWith('line ')).length;
  assert.equal(kept + Number.parseInt(said, 10), 2000);
  assert.ok(messages.includes('space again'));
});

test('a fault of somebody else is said in its words, on one line; one of our own with where it happened', () => {
  const { stderr } = run(
    `import { createLogger, inWords } from '${logger}';
     const log = createLogger();
     const cause = new Error('refused');
     log.warn({ error: inWords(new Error('nobody answers', { cause })) }, 'theirs');
     log.warn({ error: inWords(new TypeError('not a function')) }, 'ours');`,
    'pipe',
  );
  const [theirs, ours] = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(theirs.error, 'nobody answers');
  assert.match(ours.error.stack, /^TypeError: not a function\n +at /);
});
