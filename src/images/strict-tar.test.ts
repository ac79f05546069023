// Archives that containerd, which is written in Go, would read otherwise than we do: each is refused as a whole, and as a layer.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { type Header, pack } from 'tar-stream';
import { strictTar } from './strict-tar.ts';

const blockBytes = 512;

async function tarOf(
  ...entries: readonly (readonly [Partial<Header> & { name: string }, string])[]
): Promise<Buffer> {
  const tar = pack();
  for (const [header, data] of entries) tar.entry(header, data);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** A header with some bytes exchanged, and the checksum that then is right. */
function withField(header: Buffer, at: number, text: string): Buffer {
  const changed = Buffer.from(header);
  changed.write(text, at, 'latin1');
  changed.write(' '.repeat(8), 148, 'latin1');
  const sum = changed.subarray(0, blockBytes).reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return changed;
}
const withType = (header: Buffer, type: string): Buffer => withField(header, 156, type);
const end = Buffer.alloc(2 * blockBytes);
const body = (tar: Buffer): Buffer => tar.subarray(0, -end.length);
/** A long header and its content, without the entry that it belongs to. */
const longHeader = async (pax: Record<string, string>): Promise<Buffer> =>
  (await tarOf([{ name: 'x', pax }, ''])).subarray(0, 2 * blockBytes);

async function namesIn(bytes: Buffer): Promise<string[]> {
  const names: string[] = [];
  for await (const entry of strictTar(Readable.from([bytes]))) {
    names.push(entry.header.name);
    entry.resume();
  }
  return names;
}

test('what archives of images have is read: long names, records of times and attributes, links', async () => {
  const long = `${'d/'.repeat(120)}f`;
  const names = await namesIn(
    await tarOf(
      [{ name: long }, 'a'],
      [{ name: 'b', pax: { 'MSWINDOWS.fileattr': '32', mtime: '1.5', 'SCHILY.xattr.user.a': 'b' } }, 'b'],
      [{ name: 'c', type: 'symlink', linkname: long }, ''],
      [{ name: 'd', type: 'directory' }, ''],
    ),
  );
  assert.deepEqual(names, [long, 'b', 'c', 'd']);
  // As git archive writes.
  const comment = withType(body(await tarOf([{ name: 'pax_global_header' }, '13 comment=a\n'])), 'g');
  assert.deepEqual(await namesIn(Buffer.concat([comment, await tarOf([{ name: 'e' }, 'e'])])), ['e']);
});

const gnuLong = async (): Promise<Buffer> =>
  withType(body(await tarOf([{ name: 'L' }, 'index.json\0'])), 'L');
const attacks: readonly (readonly [string, () => Promise<Buffer>, RegExp])[] = [
  [
    'a sparse file by records: Go knows it by another name',
    () => tarOf([{ name: 'notes', pax: { 'GNU.sparse.major': '1', 'GNU.sparse.name': 'index.json' } }, 'x']),
    /tells of a sparse file/,
  ],
  [
    'a sparse file of old: Go knows another size',
    async () => withType(await tarOf([{ name: 'a' }, 'x']), 'S'),
    /has an unknown type/,
  ],
  [
    'a name for all entries: Go gives it to none',
    async () =>
      Buffer.concat([
        withType(await longHeader({ path: 'harmless' }), 'g'),
        await tarOf([{ name: 'index.json', pax: { comment: 'x' } }, 'x']),
      ]),
    /gives a name or a size to all entries/,
  ],
  [
    "two long names of one entry: Go takes GNU's",
    async () =>
      Buffer.concat([
        await gnuLong(),
        await longHeader({ path: 'harmless' }),
        await tarOf([{ name: 'a' }, 'x']),
      ]),
    /has two long names for one entry/,
  ],
  [
    'a link with content: Go reads that as the next entries',
    async () => {
      const hidden = body(await tarOf([{ name: 'index.json' }, '{}']));
      const link = body(await tarOf([{ name: 'a', type: 'symlink', linkname: 'b' }, '']));
      const size = `${hidden.length.toString(8).padStart(11, '0')} `;
      return Buffer.concat([withField(link, 124, size), hidden, end]);
    },
    /of a symlink has a size/,
  ],
];
for (const [what, attack, reason] of attacks)
  test(`${what}: refused`, async () => {
    await assert.rejects(namesIn(await attack()), (error: Error) => {
      assert.equal(error.name, 'ImageError');
      assert.match(error.message, reason);
      return true;
    });
  });
