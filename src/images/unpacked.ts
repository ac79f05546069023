// Streams that may be packed: by gzip, by zstd, or not at all.
import { closeSync, openSync, readSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';

const headBytes = 512;

const isGzip = (head: Buffer): boolean => head[0] === 0x1f && head[1] === 0x8b;
const isZstd = (head: Buffer): boolean => head.length >= 4 && head.readUInt32LE(0) === 0xfd2fb528;

export type Packing = 'gzip' | 'zstd' | undefined;

export const packingOf = (head: Buffer): Packing =>
  isGzip(head) ? 'gzip' : isZstd(head) ? 'zstd' : undefined;

/** Its first bytes, enough to know what it is. */
export function headOfFile(file: string): Buffer {
  const handle = openSync(file, 'r');
  try {
    const block = Buffer.alloc(headBytes);
    return block.subarray(0, readSync(handle, block, 0, headBytes, 0));
  } finally {
    closeSync(handle);
  }
}

const unpackedPieceBytes = 256 << 10;

const unpackers = {
  gzip: () => createGunzip({ chunkSize: unpackedPieceBytes }),
  zstd: () => createZstdDecompress({ chunkSize: unpackedPieceBytes }),
} as const;

/** `onBytes`: told of all bytes so far and of those that came; what it throws ends the stream. */
export function unpacked(
  source: Readable,
  packing: Packing,
  onBytes: (bytes: number, added: number) => void,
): Readable {
  const plain = packing === undefined ? source : source.pipe(unpackers[packing]());
  if (plain !== source) source.on('error', (error) => plain.destroy(error));
  let bytes = 0;
  plain.on('data', (piece: Buffer) => {
    bytes += piece.length;
    try {
      onBytes(bytes, piece.length);
    } catch (error) {
      plain.destroy(error as Error);
    }
  });
  // Until somebody reads it.
  plain.pause();
  return plain;
}
