// Whether a disk gives a store's files back. SQLite says of a page that the disk cannot read that the database is malformed.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';

const pieceBytes = 1 << 20;

/** The error of the first file that cannot be read to its end; undefined: all can. */
export function readError(directory: string): unknown {
  try {
    for (const name of readdirSync(directory)) readThrough(join(directory, name));
    return undefined;
  } catch (error) {
    return error;
  }
}

function readThrough(path: string): void {
  const piece = Buffer.alloc(pieceBytes);
  const file = openSync(path, 'r');
  try {
    while (readSync(file, piece, 0, pieceBytes, null) > 0);
  } finally {
    closeSync(file);
  }
}
