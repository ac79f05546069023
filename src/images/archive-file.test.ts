// What is no image archive at all is told in plain words.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { pack } from 'tar-stream';
import { checkArchiveFile } from './archive-file.ts';

test('a missing file, a folder, an empty file, and junk are said; a tar file, a packed one and an OCI layout are not', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'archive-file-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, bytes: Buffer): string => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };
  const tar = pack();
  tar.entry({ name: 'oci-layout' }, '{}');
  tar.finalize();
  const bytes = await buffer(tar);
  checkArchiveFile(write('good.tar', bytes));
  checkArchiveFile(write('good.tar.gz', gzipSync(bytes)));
  const layout = join(folder, 'layout');
  mkdirSync(layout);
  for (const name of ['oci-layout', 'index.json']) write(`layout/${name}`, Buffer.from('{}'));
  checkArchiveFile(layout);
  const rows: [string, RegExp][] = [
    [join(folder, 'none.tar'), /^there is no file .*\/none\.tar$/],
    [join(folder, 'good.tar/x'), /^there is no file /],
    [folder, /^\/.* is a folder without oci-layout and index\.json; an image is a folder/],
    [write('empty', Buffer.alloc(0)), /empty is empty$/],
    [write('short', Buffer.from('junk')), /short is no tar file; an image archive is what docker save/],
    [write('junk', Buffer.alloc(4096, 7)), /junk is no tar file/],
    [write('zero', Buffer.alloc(4096)), /zero is no tar file/],
  ];
  for (const [file, says] of rows)
    assert.throws(() => checkArchiveFile(file), { name: 'ImageError', message: says });
});
