// What an image archive holds, entry by entry: of a tar file, packed or not, or of a folder in OCI's layout.
import { createReadStream, existsSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { plainName } from './archive-names.ts';
import { ImageError } from './image-index.ts';
import { strictTar } from './strict-tar.ts';
import { headOfFile, packingOf, unpacked } from './unpacked.ts';

export interface ArchiveEntry {
  /** As everybody who reads it reads it. */
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly linkname: string;
  readonly content: AsyncIterable<Buffer>;
}

export interface ReadingArchive {
  /** Of a packed archive: told of all that it has unpacked to; throws when that is too much. */
  readonly onUnpacked: (bytes: number, packedBytes: number) => void;
  /** Told of what was read of the file so far. */
  readonly onRead: (bytes: number) => void;
}

const pieceBytes = 1 << 20;
const blobName = /^[0-9a-f]{64}$/;

async function* entriesOfTar(file: string, reading: ReadingArchive): AsyncGenerator<ArchiveEntry> {
  const source = createReadStream(file, { highWaterMark: pieceBytes });
  source.on('data', () => reading.onRead(source.bytesRead));
  source.pause();
  const { size } = statSync(file);
  const plain = unpacked(source, packingOf(headOfFile(file)), (bytes) => reading.onUnpacked(bytes, size));
  try {
    for await (const entry of strictTar(plain)) {
      const { type, size: bytes, linkname } = entry.header;
      yield {
        name: plainName(entry.header.name, type),
        type: type ?? '',
        size: bytes ?? 0,
        linkname: linkname ?? '',
        content: entry as unknown as AsyncIterable<Buffer>,
      };
      entry.resume();
    }
  } finally {
    source.destroy();
  }
}

/** Files only, and only where the layout has some: nothing is followed out of it. */
async function* entriesOfFolder(folder: string, { onRead }: ReadingArchive): AsyncGenerator<ArchiveEntry> {
  let read = 0;
  const blobs = join('blobs', 'sha256');
  const there = (name: string): boolean =>
    lstatSync(join(folder, name), { throwIfNoEntry: false })?.isDirectory() === true;
  const inside = there('blobs') && there(blobs) ? readdirSync(join(folder, blobs)) : [];
  const names = [
    'oci-layout',
    'index.json',
    ...inside.filter((name) => blobName.test(name)).map((name) => `blobs/sha256/${name}`),
  ];
  for (const name of names) {
    const path = join(folder, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (!stat) continue;
    if (!stat.isFile()) throw new ImageError(`${path} is no file`);
    const content = createReadStream(path, { highWaterMark: pieceBytes });
    content.on('data', (piece) => {
      read += piece.length;
      onRead(read);
    });
    content.pause();
    try {
      yield { name, type: 'file', size: stat.size, linkname: '', content };
    } finally {
      content.destroy();
    }
  }
}

export const archiveEntries = (path: string, reading: ReadingArchive): AsyncGenerator<ArchiveEntry> =>
  statSync(path).isDirectory() ? entriesOfFolder(path, reading) : entriesOfTar(path, reading);

/** Of the file, or of all files of the folder's blobs. */
export function archiveBytes(path: string): number {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.size;
  const blobs = join(path, 'blobs', 'sha256');
  const names = existsSync(blobs) ? readdirSync(blobs) : [];
  return names.reduce((sum, name) => sum + lstatSync(join(blobs, name)).size, 0);
}
