// Volumes of keys: atomic, and no key, link or subPath leads out of them.
import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { type Beneath, BeneathError } from '../../os/beneath.ts';
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { createLinuxNodeOs } from '../node-os/linux.ts';
import { createWindowsNodeOs } from '../node-os/windows.ts';
import { badWindowsFileName, pathOnDriveC } from '../node-os/windows-path.ts';
import { aPod } from '../testing/observed-builder.ts';
import { badPayloadPath, writeAtomically } from './atomic-writer.ts';
import { hostLocation } from './host-location.ts';
import { filesOfKeys } from './key-to-path.ts';
import { checkSubPath, mountSubPath } from './sub-path.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'volumes-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}
const deps = { files: linuxFiles, clock: systemClock, random: systemRandom };
const payload = (entries: Record<string, string>) =>
  new Map(Object.entries(entries).map(([path, text]) => [path, { data: Buffer.from(text), mode: 0o640 }]));

test('keys that would leave the volume, hide its machinery or confuse Windows are refused', () => {
  for (const bad of [
    '',
    '/etc/passwd',
    '..',
    '../x',
    'a/../../x',
    '..data',
    '..x',
    'a\0b',
    'a//b',
    './a',
    'x'.repeat(5000),
  ]) {
    assert.ok(badPayloadPath(bad), JSON.stringify(bad));
  }
  for (const good of ['a', 'a/b', '.hidden', 'a..b', 'C:x', 'a\\b'])
    assert.equal(badPayloadPath(good), undefined, good);
  for (const bad of ['C:\\x', 'a\\b', '..\\x', 'file:stream', 'con', 'NUL.txt', 'a.', 'b ', 'a?']) {
    assert.ok(badWindowsFileName(bad), bad);
  }
});

test('readers see all of the old or all of the new through ..data, and what is no longer wanted goes', async (t) => {
  const dir = folder(t);
  assert.equal(await writeAtomically(deps, dir, payload({ a: '1', 'd/e': '2' })), true);
  const first = readlinkSync(join(dir, '..data'));
  assert.equal(readFileSync(join(dir, 'd/e'), 'utf8'), '2');
  assert.equal(await writeAtomically(deps, dir, payload({ a: '1', 'd/e': '2' })), false);
  assert.equal(readlinkSync(join(dir, '..data')), first);
  assert.equal(await writeAtomically(deps, dir, payload({ a: '9' })), true);
  assert.equal(readFileSync(join(dir, 'a'), 'utf8'), '9');
  assert.deepEqual(
    (await linuxFiles.list(dir)).filter((n) => !n.startsWith('..')),
    ['a'],
  );
  assert.equal((await linuxFiles.list(dir)).includes(first), false);
  await assert.rejects(writeAtomically(deps, dir, payload({ '../x': '' })), /must not contain '\.\.'/);
});

test('items choose keys, paths and modes; a missing key is an error unless it is optional', () => {
  const data = new Map([
    ['k', Buffer.from('v')],
    ['__proto__', Buffer.from('p')],
  ]);
  const base = { data, defaultMode: 0o644, optional: false };
  const node = { nodeOs: createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' }), pod: aPod() };
  assert.deepEqual([...filesOfKeys(node, { ...base, items: undefined }).keys()], ['k', '__proto__']);
  const chosen = filesOfKeys(node, { ...base, items: [{ key: 'k', path: 'x/y', mode: 0o400 }] });
  assert.equal(chosen.get('x/y')?.mode, 0o400);
  assert.throws(
    () => filesOfKeys(node, { ...base, items: [{ key: 'no', path: 'x' }] }),
    /references non-existent config key: no/,
  );
  assert.equal(filesOfKeys(node, { ...base, optional: true, items: [{ key: 'no', path: 'x' }] }).size, 0);
  assert.throws(() => filesOfKeys(node, { ...base, items: [{ key: 'k', path: '../../etc/cron.d/x' }] }));
});

/** Remembers what it was asked to mount; the walk itself is tried in test/security/paths-beneath.e2e.ts. */
function recordingBeneath(): { readonly beneath: Beneath; readonly asked: string[] } {
  const asked: string[] = [];
  const done = async (): Promise<void> => undefined;
  return {
    asked,
    beneath: {
      open: async () => 'directory',
      mount: async (place, target) => {
        asked.push(`${place.base} ${place.path} -> ${target}`);
        return 'directory';
      },
      release: done,
      remove: done,
      usage: async () => [],
    },
  };
}

test('a subPath never leads out of its volume, by dots or by links, and its links are gone before the walk', async (t) => {
  const dir = folder(t);
  const base = join(dir, 'volume');
  mkdirSync(join(base, 'in'), { recursive: true });
  writeFileSync(join(dir, 'secret'), 'x');
  symlinkSync(dir, join(base, 'out'));
  symlinkSync('/etc/passwd', join(base, 'passwd'));
  symlinkSync('in', join(base, 'fine'));
  symlinkSync('loop', join(base, 'loop'));
  for (const bad of ['../x', 'a/../../b', '/etc', 'C:\\x', '\\x', 'a\0'])
    assert.throws(() => checkSubPath(bad), Error, bad);
  assert.throws(() => checkSubPath('a/../b'), {
    message: "unable to provision SubPath `a/../b`: must not contain '..'",
  });
  assert.throws(() => checkSubPath('/a'), { message: 'error SubPath `/a` must not be an absolute path' });
  const { beneath, asked } = recordingBeneath();
  const mount = (subPath: string, linksInside = true): Promise<void> =>
    mountSubPath(
      { files: linuxFiles, beneath },
      { volume: { base, path: '' }, subPath, target: '/pin', linksInside },
    );
  await assert.rejects(mount('out/secret'), /not within volume path/);
  await assert.rejects(mount('out/new/dir'), /not within volume path/);
  await assert.rejects(mount('passwd'), /not within volume path/);
  await assert.rejects(mount('loop/x'), /ELOOP/);
  assert.deepEqual(asked, []);
  await mount('fine/made/deep');
  await mount('./in//x');
  await mount('fine/x', false);
  assert.deepEqual(asked, [`${base} in/made/deep -> /pin`, `${base} in/x -> /pin`, `${base} fine/x -> /pin`]);
});

test('a host path of an emulated Windows node is a way below its own drive folder', () => {
  assert.equal(pathOnDriveC('C:\\Data\\x'), 'data/x');
  assert.equal(pathOnDriveC('/etc/../../../etc/shadow'), 'etc/shadow');
  assert.throws(() => pathOnDriveC('D:\\x'));
});

test('what is missing on the drive of an emulated Windows node is told by its number, whatever its words', async (t) => {
  const nodeOs = createWindowsNodeOs({
    build: 20348,
    osImage: 'W',
    kernelVersion: '10',
    emulated: true,
    hostDrive: folder(t),
  });
  const locate = (errno: number) =>
    hostLocation(
      {
        files: linuxFiles,
        beneath: {
          ...recordingBeneath().beneath,
          open: () => Promise.reject(new BeneathError('open', errno, 'open: in other words')),
        },
        nodeOs,
      },
      'C:\\data',
      { type: 'Directory', mode: 0o755 },
    );
  await assert.rejects(locate(2), { message: 'hostPath type check failed: C:\\data is not a directory' });
  await assert.rejects(locate(40), {
    message: `hostPath "C:\\\\data" can't be mounted: open: in other words`,
  });
});

test('a folder of the node is made for its volume with the mode that its users need, and checked for its type', async (t) => {
  const dir = folder(t);
  const nodeOs = createLinuxNodeOs({ osImage: 'Debian', kernelVersion: '6' });
  const { beneath } = recordingBeneath();
  const locate = (path: string, type: string, mode = 0o777) =>
    hostLocation({ files: linuxFiles, beneath, nodeOs }, path, { type, mode });
  const made = join(dir, 'claim');
  assert.deepEqual(await locate(made, 'DirectoryOrCreate'), { base: made, path: '', kind: 'directory' });
  assert.equal((await linuxFiles.stat(made))?.mode, 0o777);
  assert.equal((await locate(join(dir, 'plain'), '', 0o755)).kind, undefined);
  assert.equal((await linuxFiles.stat(join(dir, 'plain')))?.mode, 0o755);
  assert.equal((await locate(join(dir, 'file'), 'FileOrCreate')).kind, 'file');
  symlinkSync(made, join(dir, 'link'));
  assert.equal(
    (await locate(join(dir, 'link'), 'Directory')).kind,
    'directory',
    "the owner's links are followed",
  );
  for (const [name, type, text] of [
    ['claim', 'File', 'is not a file'],
    ['none', 'Directory', 'is not a directory'],
    ['file', 'Socket', 'is not a socket'],
    ['file', 'SocketOrCreate', 'has unknown type SocketOrCreate'],
  ] as const) {
    await assert.rejects(locate(join(dir, name), type), {
      message: `hostPath type check failed: ${join(dir, name)} ${text}`,
    });
  }
});
