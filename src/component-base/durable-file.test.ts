// A file is whole or not there, and nothing of it is left when it can't be written.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeDurably } from './durable-file.ts';
import { readNamed } from './read-named.ts';

test('what there is no room for leaves nothing behind, and what was there stays', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-durable-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'backup');
  writeDurably(file, 'an older one');
  const program = `
    import { writeDurably } from ${JSON.stringify(new URL('./durable-file.ts', import.meta.url).href)};
    writeDurably(${JSON.stringify(file)}, Buffer.alloc(1 << 20));`;
  // No file of this shell's may be larger than 64 blocks: the write begins, and fails.
  const { status, stderr } = spawnSync(
    'sh',
    [
      '-c',
      'trap "" XFSZ; ulimit -f 64; exec "$@"',
      'sh',
      process.execPath,
      '--input-type=module',
      '--eval',
      program,
    ],
    { encoding: 'utf8' },
  );
  assert.equal(status, 1, stderr);
  assert.match(stderr, /EFBIG/);
  assert.deepEqual(readdirSync(folder), ['backup']);
  assert.equal(readFileSync(file, 'utf8'), 'an older one');
});

test('nor does what can not be put in its place', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-durable-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'taken');
  mkdirSync(file);
  assert.throws(() => writeDurably(file, 'x'), { code: 'EISDIR' });
  assert.deepEqual(readdirSync(folder), ['taken']);
  mkdirSync(join(folder, 'free.new'));
  assert.throws(() => writeDurably(join(folder, 'free'), 'x'), { code: 'EISDIR' });
});

test('a link where the half is written goes; what it leads to is not touched', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-durable-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const [file, other, secret] = ['file', 'other', 'secret'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(secret, 'of another');
  symlinkSync(secret, `${file}.new`);
  linkSync(secret, `${other}.new`);
  for (const path of [file, other]) {
    writeDurably(path, 'x');
    assert.ok(lstatSync(path).isFile());
    assert.equal(lstatSync(path).mode & 0o777, 0o600);
    assert.equal(readFileSync(path, 'utf8'), 'x');
  }
  assert.equal(readFileSync(secret, 'utf8'), 'of another');
});

test('a folder in the place of a file is named', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'porthole-durable-'));
  t.after(() => rmSync(folder, { recursive: true }));
  assert.throws(() => readNamed(folder), { code: 'EISDIR', path: folder, message: `${folder} is a folder` });
  assert.throws(() => readNamed(join(folder, 'gone')), { code: 'ENOENT' });
});
