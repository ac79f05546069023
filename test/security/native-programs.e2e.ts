// The helpers around a Windows container: what fails in them ends the start; nothing is left out in silence.
import assert from 'node:assert/strict';
import { copyFileSync, writeFileSync } from 'node:fs';
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
  const run = (...args: string[]) => linuxProcesses.run('prlimit', args);
  // A program from elsewhere than Wine's folders shows whether there is a wall.
  copyFileSync(confine, at('elsewhere'));
  const walled = await run(confine, at('elsewhere'));
  if (walled.code !== 127) return t.skip('this kernel has no Landlock');
  assert.equal((await run(confine, '/usr/bin/true')).code, 0);
  // One file more could not be opened: the first thing that is made is the set of rules.
  const refused = await run('--nofile=3', confine, '/usr/bin/true');
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
