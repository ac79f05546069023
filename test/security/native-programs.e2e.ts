// The helpers around a Windows container: what fails in them ends the start; nothing is left out in silence.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('native');
after(() => scratch.remove());
const at = (name: string): string => join(scratch.path, name);
const nativeDir = fileURLToPath(new URL('../../native/linux', import.meta.url));
const build = (name: string): Promise<string> =>
  buildNative(linuxProcesses, portholeCache(), {
    name,
    target: 'linux',
    source: join(nativeDir, `${name}.c`),
  });

test('X15: a wall that the kernel has and that can not be built ends the start', async (t) => {
  const confine = await build('confine');
  const fewFiles = await buildNative(linuxProcesses, portholeCache(), {
    name: 'few-files',
    target: 'linux',
    source: fileURLToPath(new URL('./programs/few-files.c', import.meta.url)),
  });
  // As in a container: Wine's folders, and one program in them and one that the pod has brought.
  const root = at('root');
  for (const folder of ['usr', '.porthole', 'tmp']) mkdirSync(join(root, folder), { recursive: true });
  for (const place of ['usr/confine', 'tmp/confine']) copyFileSync(confine, join(root, place));
  const run = (files: number, program: string) =>
    linuxProcesses.run(fewFiles, [root, String(files), '/usr/confine', program]);
  /** What confine says without arguments. */
  const started = 2;
  assert.equal((await run(100, '/usr/confine')).code, started);
  if ((await run(100, '/tmp/confine')).code === started) return t.skip('this kernel has no Landlock');
  // The first thing that is made is the set of rules: a file too many.
  const refused = await run(3, '/tmp/confine');
  assert.equal(refused.code, 127);
  assert.match(String(refused.stderr), /No file descriptors available|Too many open files/);
  return undefined;
});

test('X16: a plan with a line that is not understood, or that can not be read, mounts and starts nothing', async () => {
  const mounts = await build('windows-mounts');
  for (const [plan, why] of [
    ['stag\t/x\n', /understand stag/],
    ['stage\n', /understand stage/],
    ['\n', /understand/],
  ] as const) {
    writeFileSync(at('plan'), plan);
    const answer = await linuxProcesses.run(mounts, [at('plan'), '/usr/bin/true']);
    assert.deepEqual([answer.code, why.test(String(answer.stderr))], [1, true], String(answer.stderr));
  }
  const folder = await linuxProcesses.run(mounts, [scratch.path, '/usr/bin/true']);
  assert.equal(folder.code, 1, 'a folder in place of the plan');
  assert.match(String(folder.stderr), /read .*directory/i);
});
