// A file of tests runs until all in it pass, and again when something that it reads, or what runs it, has changed.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../test/harness/scratch.ts';
import { notYetPassed } from './passed-tests.ts';
import { TestInputs } from './test-inputs.ts';
import { runFiles } from './test-run.ts';

test('files of tests are run until they pass, and then when something changes', (context) => {
  const scratch = scratchDirectory('passed-tests');
  context.after(() => scratch.remove());
  const put = (name: string, text: string): void => writeFileSync(join(scratch.path, name), text);
  const memory = join(scratch.path, '.cache', 'passed');
  const files = ['a.test.ts', 'b.test.ts'];
  const look = (all = false): ReturnType<typeof notYetPassed> =>
    notYetPassed({ root: scratch.path, inputs: new TestInputs(scratch.path), memory, files, all });
  put('a.test.ts', "import './c.ts';");
  put('b.test.ts', '');
  put('c.ts', '');

  assert.deepEqual(look().run, files);
  look().remember(['a.test.ts']);
  assert.deepEqual(look().run, ['b.test.ts']);
  look().remember([]);
  assert.deepEqual(look().run, ['b.test.ts'], 'what was not run is not forgotten');
  look().remember(['b.test.ts']);
  assert.deepEqual(look().run, []);

  put('c.ts', 'other');
  assert.deepEqual(look().run, ['a.test.ts']);
  const before = look();
  put('c.ts', 'another');
  before.remember(['a.test.ts']);
  assert.deepEqual(look().run, ['a.test.ts'], 'it was changed while the tests ran');
  look().remember(['a.test.ts']);

  assert.deepEqual(look(true).run, files);
  look(true).remember(['a.test.ts']);
  assert.deepEqual(look().run, ['b.test.ts'], 'it was run again and did not pass');
  look().remember(['b.test.ts']);

  for (const name of ['package-lock.json', 'node_modules/.package-lock.json', 'tsconfig.json']) {
    mkdirSync(join(scratch.path, 'node_modules'), { recursive: true });
    put(name, '{}');
    assert.deepEqual(look().run, files, name);
    look().remember(files);
    assert.deepEqual(look().run, [], name);
  }
  writeFileSync(memory, '\0\n\n');
  assert.deepEqual(look().run, files, 'a memory that makes no sense remembers nothing');
});

test('a file has passed when all its tests have, and none was skipped', async (context) => {
  const scratch = scratchDirectory('passed-files');
  context.after(() => scratch.remove());
  const write = (name: string, lines: string): string => {
    const path = join(scratch.path, name);
    writeFileSync(path, `import { test } from 'node:test';\n${lines}`);
    return path;
  };
  const good = write('good.test.mjs', "test('one', () => {}); test('two', () => {});");
  const skips = write('skips.test.mjs', "test('one', () => {}); test.skip('two', () => {});");
  const late = write(
    'late.test.mjs',
    "test('one', () => {}); process.on('exit', () => { process.exitCode = 3; });",
  );
  // What these say is of this test.
  const log = context.mock.method(console, 'log', () => undefined);
  const passedOf = async (files: readonly string[]): Promise<string[]> => {
    const passed: string[] = [];
    await runFiles({
      files,
      concurrency: 1,
      shared: 1,
      timeoutMs: 60_000,
      verbose: false,
      onPassed: (file) => passed.push(join(process.cwd(), file)),
    });
    return passed;
  };
  assert.deepEqual(await passedOf([good, skips]), [good]);
  assert.deepEqual(await passedOf([good, late]), [], 'the process did not end well');
  log.mock.restore();
});
