// Old files: when one begins, how many stay, for how long, and for whose eyes.
import assert from 'node:assert/strict';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { FakeClock } from '../base/testing/fake-clock.ts';
import { RotatingFile, type RotatingFileOptions } from './rotating-file.ts';

const root = mkdtempSync(join(tmpdir(), 'rotating-file-'));
after(() => rmSync(root, { recursive: true }));
let folders = 0;

function begin(options: Partial<RotatingFileOptions> = {}) {
  const folder = join(root, String(++folders));
  const clock = new FakeClock();
  const path = join(folder, 'audit.log');
  const all = {
    path,
    maxBytes: 10,
    maxBackups: 0,
    maxAgeMs: 0,
    compress: false,
    clock,
    onTrouble: (error: unknown) => assert.fail(String(error)),
    ...options,
  };
  return { folder, path, clock, all, file: new RotatingFile(all) };
}

test('a file that would grow too long is put aside by the time it ended, for its owner alone', async () => {
  const { folder, path, file } = begin();
  file.write('12345678\n');
  file.write('abc\n');
  file.write('def\n');
  file.write('ghi\n');
  await file.close();
  assert.deepEqual(readdirSync(folder).sort(), [
    'audit-2026-01-01T00-00-00.000.log',
    'audit-2026-01-01T00-00-00.001.log',
    'audit.log',
  ]);
  assert.equal(readFileSync(path, 'utf8'), 'ghi\n');
  assert.equal(readFileSync(join(folder, 'audit-2026-01-01T00-00-00.001.log'), 'utf8'), 'abc\ndef\n');
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
  assert.equal(statSync(folder).mode & 0o777, 0o700);
});

test('so many old files are kept, for so long', async () => {
  const { folder, clock, file } = begin({ maxBytes: 1, maxBackups: 3, maxAgeMs: 5_000 });
  for (let i = 0; i < 6; i++) {
    file.write(`${i}\n`);
    clock.advance(1_000);
  }
  await file.settled();
  const kept = () => readdirSync(folder).filter((name) => name !== 'audit.log');
  assert.deepEqual(
    kept().map((name) => readFileSync(join(folder, name), 'utf8')),
    ['2\n', '3\n', '4\n'],
  );
  clock.advance(3_500);
  file.write('6\n');
  await file.close();
  assert.deepEqual(
    kept().map((name) => readFileSync(join(folder, name), 'utf8')),
    ['4\n', '5\n'],
  );
});

test('old files are compressed, and what is not ours is left alone', async () => {
  const { folder, file } = begin({ maxBytes: 1, maxBackups: 1, compress: true });
  writeFileSync(join(folder, 'audit-notes.log'), 'mine');
  file.write('one\n');
  file.write('two\n');
  await file.close();
  assert.deepEqual(readdirSync(folder).sort(), [
    'audit-2026-01-01T00-00-00.000.log.gz',
    'audit-notes.log',
    'audit.log',
  ]);
  const packed = join(folder, 'audit-2026-01-01T00-00-00.000.log.gz');
  assert.equal(gunzipSync(readFileSync(packed)).toString(), 'one\n');
  assert.equal(statSync(packed).mode & 0o777, 0o600);
});

test('after a crash in the middle of a line the next one begins anew', async () => {
  const { path, all, file } = begin({ maxBytes: 0 });
  await file.close();
  writeFileSync(path, 'whole\nhal');
  const again = new RotatingFile(all);
  again.write('next\n');
  await again.close();
  assert.equal(readFileSync(path, 'utf8'), 'whole\nhal\nnext\n');
});

test('nothing is written once it is closed, least of all into the file that has its number then', async () => {
  const { path, folder, file } = begin({ maxBytes: 0 });
  file.write('one\n');
  const first = file.close();
  assert.throws(() => file.write('two\n'), /audit\.log is closed/);
  await first;
  const others = join(folder, 'others');
  const taken = Array.from({ length: 8 }, () => openSync(others, 'a'));
  assert.throws(() => file.write('three\n'), /audit\.log is closed/);
  await file.close();
  for (const number of taken) writeSync(number, 'x');
  for (const number of taken) closeSync(number);
  assert.equal(readFileSync(path, 'utf8'), 'one\n');
  assert.equal(readFileSync(others, 'utf8'), 'xxxxxxxx');
});

test('a folder that somebody removed is made again when the next file begins', async () => {
  const { folder, path, file } = begin();
  file.write('12345678\n');
  rmSync(folder, { recursive: true });
  file.write('abc\n');
  await file.close();
  assert.equal(readFileSync(path, 'utf8'), 'abc\n');
});

test('a file that can not be begun anew goes on, and that is said once until it can', async () => {
  const troubles: string[] = [];
  const { folder, path, file } = begin({ onTrouble: (error) => troubles.push((error as Error).message) });
  file.write('12345678\n');
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'no folder');
  for (const line of ['abc\n', 'def\n', 'ghi\n']) file.write(line);
  assert.equal(troubles.length, 1, troubles.join('\n'));
  rmSync(folder);
  file.write('jkl\n');
  assert.equal(readFileSync(path, 'utf8'), 'jkl\n');
  await file.close();
  assert.equal(troubles.length, 1, troubles.join('\n'));
});
