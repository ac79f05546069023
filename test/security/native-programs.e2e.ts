// The helpers around a Windows container: what fails in them ends the start; nothing is left out in silence.
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
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

test('a wall that the kernel has and that can not be built ends the start', async (t) => {
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

test('a plan with a line that is not understood, or that can not be read, mounts and starts nothing', async () => {
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

test('of a folder that is exchanged with a link while mounts are made on it, the mount lies in the volume or nowhere', async () => {
  const mounts = await build('windows-mounts');
  const swap = await buildNative(linuxProcesses, portholeCache(), {
    name: 'swap',
    target: 'linux',
    source: fileURLToPath(new URL('./programs/swap.c', import.meta.url)),
  });
  for (const folder of ['drive/drive_c/d', 'volume/p', 'inner', 'elsewhere/x', 'stage'])
    mkdirSync(at(folder), { recursive: true });
  symlinkSync(at('elsewhere'), at('volume/link'));
  const lines = [
    `stage\t${at('stage')}`,
    `bind\t0\trw\t${at('drive')}`,
    `bind\t0/drive_c/d\trw\t${at('volume')}`,
    `bind\t0/drive_c/d/p/x\trw\t${at('inner')}`,
    'folder\t0/drive_c/d/p/made',
  ];
  writeFileSync(at('race'), `${lines.join('\n')}\n`);
  const swapper = linuxProcesses.spawn(swap, [at('volume'), 'p', 'link']);
  const outcomes = new Set<string>();
  try {
    // Two of them may be the two ways to fail.
    for (let runs = 0; runs < 2000 && !(outcomes.size >= 2 && outcomes.has('mounted')); runs++) {
      const { code, stdout, stderr } = await linuxProcesses.run(mounts, [
        at('race'),
        'cat',
        '/proc/self/mountinfo',
      ]);
      outcomes.add(code === 0 ? 'mounted' : String(stderr).trim());
      const places = String(stdout)
        .split('\n')
        .map((line) => line.split(' '))
        .flatMap(([, , , from = '', place = '']) => (from.endsWith('/inner') ? [place] : []));
      const inside = places.filter((place) =>
        /^[/]stage[/]0[/]drive_c[/]d[/](p|link)[/]x$/.test(place.slice(scratch.path.length)),
      );
      assert.deepEqual(places, inside, String(stderr));
      assert.equal(places.length, code === 0 ? 1 : 0);
    }
  } finally {
    swapper.kill('SIGKILL');
    await swapper.exited;
  }
  assert.ok(outcomes.delete('mounted'));
  assert.match(
    [...outcomes].join(),
    /C:\\d\\p\\(x|made) can't be used: C:\\d\\p is a link, and links are not followed/,
  );
  assert.deepEqual(readdirSync(at('elsewhere')), ['x'], 'nothing was made behind the link');
});
