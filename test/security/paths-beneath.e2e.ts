// The module through which root walks where pods can change the way: planted links, pipes, mounts, odd names, deep trees.
import assert from 'node:assert/strict';
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portholeCache } from '../../src/cmd/setup/locations.ts';
import { type Beneath, BeneathError, type WalkOptions } from '../../src/os/beneath.ts';
import { beneathProgram, createLinuxBeneath } from '../../src/os/linux/beneath-linux.ts';
import { createLinuxMounts } from '../../src/os/linux/mounts-linux.ts';
import { linuxProcesses } from '../../src/os/linux/processes-linux.ts';
import { buildNative } from '../../src/os/native-build.ts';
import { runOrThrow } from '../../src/os/processes.ts';
import { scratchDirectory } from '../harness/scratch.ts';

const scratch = scratchDirectory('beneath');
const at = (...parts: string[]): string => join(scratch.path, ...parts);
const base = at('volume');
const mounts = createLinuxMounts(linuxProcesses);
const nativeDir = fileURLToPath(new URL('../../native', import.meta.url));
let beneath: Beneath;
let program: string;

before(async () => {
  program = await buildNative(linuxProcesses, portholeCache(), beneathProgram(nativeDir));
  beneath = createLinuxBeneath(linuxProcesses, program);
  mkdirSync(join(base, 'in/deep'), { recursive: true });
  writeFileSync(join(base, 'in/file'), 'inside');
  writeFileSync(at('secret'), 'outside');
  mkdirSync(at('pins'));
  const links = {
    up: '..',
    root: '/',
    inside: 'in',
    abs: join(base, 'in'),
    proc: '/proc/self/root',
    dangling: 'none',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(base, name));
  await runOrThrow(linuxProcesses, 'mkfifo', [join(base, 'pipe')]);
  await runOrThrow(linuxProcesses, 'mknod', [join(base, 'null'), 'c', '1', '3']);
});
after(async () => {
  await mounts.unmountAllBelow(scratch.path);
  scratch.remove();
});

const refused = (errno: number) => (error: unknown) => error instanceof BeneathError && error.errno === errno;
const [ENOENT, EBUSY, EXDEV, ENOTDIR, ELOOP] = [2, 16, 18, 20, 40];
const directory: WalkOptions = { make: { kind: 'directory' } };

describe('a walk beneath a folder', () => {
  const attacks: readonly (readonly [path: string, errno: number, options?: WalkOptions])[] = [
    ['..', EXDEV],
    ['in/../..', EXDEV],
    ['in/../../secret', EXDEV],
    ['up', ELOOP],
    ['up/secret', ELOOP],
    ['root', ELOOP],
    ['root/etc', ELOOP],
    ['root/made-by-an-attack', ELOOP, directory],
    ['inside', ELOOP],
    ['inside/deep', ELOOP],
    ['abs/deep', ELOOP],
    ['proc/etc', ELOOP],
    ['dangling', ELOOP, directory],
    ['in/file/x', ENOTDIR, directory],
    ['pipe/x', ENOTDIR, directory],
    ['missing', ENOENT],
    ['missing/file', ENOENT, { make: { kind: 'file' } }],
  ];
  for (const [path, errno, options] of attacks) {
    test(`ends at ${JSON.stringify(path)}${options ? ', which would be made' : ''}`, async () => {
      await assert.rejects(beneath.open({ base, path }, options), refused(errno));
      await assert.rejects(beneath.mount({ base, path }, at('pins/no'), options), refused(errno));
      assert.equal(existsSync('/made-by-an-attack') || existsSync(at('pins/no')), false);
    });
  }

  test('says what is there and refuses what is of another kind', async () => {
    const kinds = {
      '': 'directory',
      'in/file': 'file',
      './in//deep/': 'directory',
      pipe: 'fifo',
      null: 'characterDevice',
    };
    for (const [path, kind] of Object.entries(kinds))
      assert.equal(await beneath.open({ base, path }), kind, path);
    await assert.rejects(
      beneath.mount({ base, path: 'pipe' }, at('pins/no'), { kind: 'directory' }),
      (error) => error instanceof BeneathError && error.step === 'kind' && /fifo/.test(error.message),
    );
  });

  test('takes names as they are, whatever is in them', async () => {
    const names = [
      '-rf',
      '--',
      ' ',
      'a\nb',
      '\u202etxt',
      '*',
      '$(id)',
      '%s%n',
      'ü',
      '...',
      '\\',
      'x'.repeat(255),
    ];
    for (const name of names) {
      assert.equal(await beneath.open({ base, path: `odd/${name}/y` }, directory), 'directory');
      assert.equal(lstatSync(join(base, 'odd', name, 'y')).isDirectory(), true);
    }
    assert.deepEqual(readdirSync(join(base, 'odd')).sort(), [...names].sort());
    await assert.rejects(beneath.open({ base, path: 'x'.repeat(256) }, directory), refused(36));
    await assert.rejects(beneath.open({ base, path: 'a\0b' }));
  });

  test('makes what is missing with the mode of the volume, or with its own', async () => {
    await runOrThrow(linuxProcesses, 'chmod', ['777', base]);
    await beneath.open({ base, path: 'new/er' }, directory);
    assert.equal(statSync(join(base, 'new/er')).mode & 0o7777, 0o777);
    await beneath.open({ base, path: 'own' }, { make: { kind: 'directory', mode: 0o755 } });
    assert.equal(statSync(join(base, 'own')).mode & 0o7777, 0o755);
    assert.equal(
      await beneath.open({ base, path: 'empty' }, { make: { kind: 'file', mode: 0o644 } }),
      'file',
    );
    assert.equal(readFileSync(join(base, 'empty'), 'utf8'), '');
  });

  test('mounts what it opened: a name that is changed afterwards changes nothing', async () => {
    mkdirSync(join(base, 'held'));
    writeFileSync(join(base, 'held/mine'), '1');
    assert.equal(await beneath.mount({ base, path: 'held' }, at('pins/held')), 'directory');
    rmSync(join(base, 'held'), { recursive: true });
    symlinkSync('/', join(base, 'held'));
    assert.deepEqual(readdirSync(at('pins/held')), []);
    assert.equal(
      await beneath.mount({ base, path: 'in/file' }, at('pins/held')),
      'file',
      'the target is used again',
    );
    assert.equal(readFileSync(at('pins/held'), 'utf8'), 'inside');
    assert.equal((await mounts.list()).filter((m) => m.target === at('pins/held')).length, 1);
    await beneath.release(at('pins/held'));
    await beneath.release(at('pins/held'));
    assert.deepEqual(readdirSync(at('pins')), []);
    assert.equal(
      (await mounts.list()).some((m) => m.target.startsWith(at('pins'))),
      false,
    );
  });

  test('a release spreads to nothing that was mounted', async () => {
    mkdirSync(at('shared/sub'), { recursive: true });
    await runOrThrow(linuxProcesses, 'mount', ['-t', 'tmpfs', 'tmpfs', at('shared')]);
    await runOrThrow(linuxProcesses, 'mount', ['--make-shared', at('shared')]);
    mkdirSync(at('shared/sub'));
    await mounts.tmpfs(at('shared/sub'));
    for (const below of [true, false]) {
      await beneath.mount({ base: at('shared'), path: '' }, at('pins/shared'), { below });
      assert.equal(await mounts.isMountPoint(at('pins/shared/sub')), below);
      await beneath.release(at('pins/shared'));
      assert.equal(await mounts.isMountPoint(at('shared/sub')), true);
    }
  });
});

describe('the removal of a tree', () => {
  test('does not follow links, and ends at mounts', async () => {
    mkdirSync(at('tree/sub'), { recursive: true });
    symlinkSync(base, at('tree/link'));
    linkSync(at('secret'), at('tree/hard'));
    await mounts.bind(base, at('tree/sub'));
    await assert.rejects(beneath.remove(at('tree')), refused(EBUSY));
    assert.equal(readFileSync(join(base, 'in/file'), 'utf8'), 'inside');
    await mounts.unmount(at('tree/sub'));
    await beneath.remove(at('tree'));
    await beneath.remove(at('tree'));
    assert.equal(existsSync(at('tree')), false);
    assert.equal(readFileSync(at('secret'), 'utf8'), 'outside');
    symlinkSync(base, at('lonely'));
    await beneath.remove(at('lonely'));
    assert.equal(readlinkSync(join(base, 'inside')), 'in');
  });

  test('is not kept from it by files that have the names which it gives', async () => {
    mkdirSync(at('planted'));
    // The shell's process becomes the one that removes. Which names are met first is the file system's: there are many.
    const plant =
      'cd "$2"; for i in $(seq 0 39); do : > .beneath-$$-$i; done; ' +
      'for i in $(seq 0 39); do mkdir -p $i/b; : > $i/b/file; done; exec "$1" remove "$2"';
    await runOrThrow(linuxProcesses, 'sh', ['-c', plant, 'sh', program, at('planted')]);
    assert.equal(existsSync(at('planted')), false);
  });

  test('takes a tree that is deeper than any path can say', async () => {
    // Made as a pod makes it: one step at a time, each folder moved into a new one.
    const name = 'd'.repeat(200);
    mkdirSync(at('deep'));
    for (let depth = 0; depth < 60; depth++) {
      mkdirSync(at('next'));
      await runOrThrow(linuxProcesses, 'mv', ['-T', at('deep'), at('next', name)]);
      await runOrThrow(linuxProcesses, 'mv', ['-T', at('next'), at('deep')]);
    }
    await beneath.remove(at('deep'));
    assert.equal(existsSync(at('deep')), false);
  });
});

describe('what a folder takes', () => {
  const kilobytes = async (...names: string[]): Promise<number[]> =>
    (
      await beneath.usage(
        names.map((name) => at(name)),
        60_000,
      )
    ).map(({ bytes }) => Math.round(bytes / 1024));

  test('is what lies in it, once, and nothing that links or mounts lead to', async () => {
    mkdirSync(at('used/sub/mounted'), { recursive: true });
    writeFileSync(at('used/sub/file'), Buffer.alloc(1 << 20, 1));
    linkSync(at('used/sub/file'), at('used/again'));
    mkdirSync(at('elsewhere'));
    writeFileSync(at('elsewhere/file'), Buffer.alloc(1 << 20, 1));
    symlinkSync(at('elsewhere'), at('used/link'));
    await mounts.tmpfs(at('used/sub/mounted'));
    writeFileSync(at('used/sub/mounted/file'), Buffer.alloc(1 << 20, 1));
    const [used, missing, link, file] = await kilobytes('used', 'missing', 'used/link', 'elsewhere/file');
    await mounts.unmount(at('used/sub/mounted'));
    assert.ok(used! >= 1024 && used! < 1100, `${used}`);
    assert.deepEqual([missing, link], [0, 0]);
    assert.ok(file! >= 1024 && file! < 1100, `a file by itself: ${file}`);
  });

  test('is counted in a tree that is deeper than any path can say', async () => {
    const name = 'd'.repeat(200);
    mkdirSync(at('below'));
    writeFileSync(at('below/file'), Buffer.alloc(1 << 20, 1));
    for (let depth = 0; depth < 30; depth++) {
      mkdirSync(at('next'));
      await runOrThrow(linuxProcesses, 'mv', ['-T', at('below'), at('next', name)]);
      await runOrThrow(linuxProcesses, 'mv', ['-T', at('next'), at('below')]);
    }
    const [used] = await kilobytes('below');
    await beneath.remove(at('below'));
    assert.ok(used! >= 1024, `${used}`);
  });

  test('is counted with names that are no text, and in folders that nobody may read', async () => {
    const folder = Buffer.concat([Buffer.from(at('odd/')), Buffer.from([0xff, 0xfe])]);
    mkdirSync(at('odd'));
    mkdirSync(folder, 0o000);
    writeFileSync(Buffer.concat([folder, Buffer.from('/\n\xff', 'latin1')]), Buffer.alloc(1 << 20, 1));
    const [odd] = await beneath.usage([at('odd')], 60_000);
    assert.ok(odd!.bytes >= 1 << 20, `${odd!.bytes}`);
    assert.deepEqual([odd!.inodes, odd!.uncounted], [3, undefined]);
  });

  test('is counted to its end while the pod moves the folder that is being read', async () => {
    for (const name of ['a/deep', 'b', 'z/sub']) mkdirSync(at('moving', name), { recursive: true });
    for (let i = 0; i < 500; i++) writeFileSync(at('moving/a/deep', `${i}`), '');
    writeFileSync(at('moving/a/file'), Buffer.alloc(1 << 20, 1));
    writeFileSync(at('moving/z/sub/file'), Buffer.alloc(1 << 20, 1));
    const [here, there] = [at('moving/a/deep'), at('moving/b/deep')];
    for (let walk = 0; walk < 100; walk++) {
      let under = true;
      const seen = beneath.usage([at('moving')], 60_000).finally(() => {
        under = false;
      });
      while (under) {
        for (let i = 0; i < 50; i++) {
          renameSync(here, there);
          renameSync(there, here);
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
      const [usage] = await seen;
      assert.equal(usage!.uncounted, undefined);
      assert.ok(usage!.bytes >= 2 << 20, `walk ${walk}: ${usage!.bytes}`);
    }
  });

  test('says when there was more than there was time for', async () => {
    mkdirSync(at('many'));
    for (let i = 0; i < 1000; i++) writeFileSync(at('many', `${i}`), '');
    const [none, missing] = await beneath.usage([at('many'), at('missing')], 0);
    assert.equal(none!.uncounted, 'late');
    assert.ok(none!.inodes < 1000, `${none!.inodes}`);
    assert.deepEqual(missing, { bytes: 0, inodes: 0, uncounted: 'late' });
    const [whole] = await beneath.usage([at('many')], 60_000);
    assert.deepEqual([whole!.inodes, whole!.uncounted], [1001, undefined]);
  });
});
