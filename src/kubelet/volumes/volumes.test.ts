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
import { linuxFiles } from '../../os/linux/files-linux.ts';
import { badPayloadPath, writeAtomically } from './atomic-writer.ts';
import { filesOfKeys } from './key-to-path.ts';
import { checkSubPath, resolveSubPath } from './sub-path.ts';
import { windowsHostPath } from './windows-host-path.ts';

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
    assert.ok(badPayloadPath(bad, true), bad);
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
  const base = { data, defaultMode: 0o644, optional: false, windows: false, mode: (m: number) => m };
  assert.deepEqual([...filesOfKeys({ ...base, items: undefined }).keys()], ['k', '__proto__']);
  const chosen = filesOfKeys({ ...base, items: [{ key: 'k', path: 'x/y', mode: 0o400 }] });
  assert.equal(chosen.get('x/y')?.mode, 0o400);
  assert.throws(
    () => filesOfKeys({ ...base, items: [{ key: 'no', path: 'x' }] }),
    /references non-existent config key: no/,
  );
  assert.equal(filesOfKeys({ ...base, optional: true, items: [{ key: 'no', path: 'x' }] }).size, 0);
  assert.throws(() => filesOfKeys({ ...base, items: [{ key: 'k', path: '../../etc/cron.d/x' }] }));
});

test('a subPath never leads out of its volume, by dots or by links', async (t) => {
  const dir = folder(t);
  const volume = join(dir, 'volume');
  mkdirSync(join(volume, 'in'), { recursive: true });
  writeFileSync(join(dir, 'secret'), 'x');
  symlinkSync(dir, join(volume, 'out'));
  symlinkSync('/etc/passwd', join(volume, 'passwd'));
  symlinkSync('in', join(volume, 'fine'));
  for (const bad of ['../x', 'a/../../b', '/etc', 'C:\\x', '\\x', 'a\0'])
    assert.throws(() => checkSubPath(bad), Error, bad);
  await assert.rejects(resolveSubPath(linuxFiles, volume, 'out/secret'), /is not within volume path/);
  await assert.rejects(resolveSubPath(linuxFiles, volume, 'out/new/dir'), /is not within volume path/);
  await assert.rejects(resolveSubPath(linuxFiles, volume, 'passwd'), /is not within volume path/);
  assert.equal(await resolveSubPath(linuxFiles, volume, 'fine/made'), join(volume, 'in/made'));
});

test('a host path of an emulated Windows node stays in its own drive folder', () => {
  assert.equal(windowsHostPath('/node/c', 'C:\\Data\\x'), '/node/c/data/x');
  assert.equal(windowsHostPath('/node/c', '/etc/../../../etc/shadow'), '/node/c/etc/shadow');
  assert.throws(() => windowsHostPath('/node/c', 'D:\\x'));
});
