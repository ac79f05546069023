// Whether a path leads to an image archive at all: what a slip of the hand gives is said before any work begins.
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { ImageError } from './image-index.ts';
import { packingOf } from './unpacked.ts';

const blockBytes = 512;
const checksumAt = 148;
const checksumBytes = 8;

/** Of a tar header: the sum of its bytes, its own field taken as blanks. */
function hasChecksum(block: Buffer): boolean {
  const field = block.subarray(checksumAt, checksumAt + checksumBytes);
  const said = Number.parseInt(field.toString('latin1').replaceAll('\0', ' ').trim(), 8);
  const rest = block.reduce((sum, byte) => sum + byte, 0) - field.reduce((sum, byte) => sum + byte, 0);
  return said === rest + checksumBytes * 0x20;
}

const isLayout = (folder: string): boolean =>
  ['oci-layout', 'index.json'].every((name) => existsSync(join(folder, name)));

function headOf(file: string): Buffer {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new ImageError(`there is no file ${file}`);
    throw new ImageError(`can't read ${file}`, error);
  }
  try {
    if (fstatSync(handle).isDirectory())
      throw new ImageError(
        `${file} is a folder without oci-layout and index.json; an image is a folder in OCI's layout, or a tar file`,
      );
    const block = Buffer.alloc(blockBytes);
    return block.subarray(0, readSync(handle, block, 0, blockBytes, 0));
  } finally {
    closeSync(handle);
  }
}

/** Throws ImageError that says what it is instead. */
export function checkArchiveFile(file: string): void {
  if (isLayout(file)) return;
  const head = headOf(file);
  if (head.length === 0) throw new ImageError(`${file} is empty`);
  // What is packed shows itself when it is read.
  if (packingOf(head) !== undefined) return;
  if (head.length < blockBytes || !hasChecksum(head))
    throw new ImageError(
      `${file} is no tar file; an image archive is what docker save, podman save or skopeo copy … oci-archive: write`,
    );
}
