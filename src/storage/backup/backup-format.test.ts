// What a backup says of itself: its revision, and the place of each object.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Backup, decodeBackup, encodeBackup } from './backup-format.ts';

const value = Buffer.from('{}');
const sound: Backup = {
  revision: 7,
  createdAt: '2026-11-22T08:00:00Z',
  entries: [
    { key: '/a/b', revision: 3, value },
    { key: '/a/c', revision: 7, value, remainingMs: 60_000 },
  ],
  files: [],
};
const encoded = (changes: object): Buffer =>
  Buffer.concat([...encodeBackup({ ...sound, ...changes } as Backup)]);
const withEntry = (entry: object): Buffer =>
  encoded({ entries: [...sound.entries, { key: '/a/d', revision: 5, value, ...entry }] });

test('a backup is read as it was written', () => {
  assert.deepEqual(decodeBackup(encoded({})), sound);
});

for (const revision of [null, -5, 0, 1.5, 'zz', 1e300, Number.MAX_SAFE_INTEGER])
  test(`a backup of revision ${revision} is refused`, () => {
    assert.throws(() => decodeBackup(encoded({ revision })), /the backup is damaged: its revision is /);
  });

for (const revision of [null, 0, 1e300, 8, 5_000_000_007])
  test(`an object of revision ${revision} in a backup of revision 7 is refused`, () => {
    assert.throws(
      () => decodeBackup(withEntry({ revision })),
      /the backup is damaged: the revision of \/a\/d is /,
    );
  });

for (const remainingMs of [null, 0, -1, 1.5, 'x', 1e300])
  test(`an object in a backup with ${remainingMs} ms to live is refused`, () => {
    assert.throws(() => decodeBackup(withEntry({ remainingMs })), /damaged: the lease of \/a\/d is /);
  });

test('a key that is none, and one that is there twice, are refused', () => {
  for (const key of [undefined, 7, 'x'])
    assert.throws(() => decodeBackup(withEntry({ key })), /the backup is damaged: .* is no key/);
  assert.throws(() => decodeBackup(withEntry({ key: '/a/b' })), /damaged: \/a\/b is in it twice/);
});

test('a line that is no object is refused', () => {
  for (const line of ['null', '7', '"x"', '{'])
    assert.throws(
      () => decodeBackup(Buffer.from(`porthole-backup 1 {"revision":7,"createdAt":""}\n${line}\n`)),
      /the backup is damaged: a line of it cannot be read/,
    );
  assert.throws(() => decodeBackup(Buffer.from('porthole-backup 1 null\n')), /a line of it cannot be read/);
});
