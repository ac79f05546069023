// Whether it is the disk that is full: SQLite calls that an I/O error as often as it calls it full.
import { statfsSync } from 'node:fs';

/** A page of a journal, an index of a log, and what file systems keep for themselves. */
const leastSpace = 64 << 10;

/** False also where there is nothing. */
export function isDiskFull(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize < leastSpace;
  } catch {
    return false;
  }
}
