// One owner of a folder, as long as that process lives: a file that SQLite locks, and nothing is ever written to.
import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDiskFull } from './disk-full.ts';

export interface OwnerLock {
  release(): void;
}

/** Undefined: another process, or somebody else in this one, has it. */
export function takeOwnerLock(file: string): OwnerLock | undefined {
  closeSync(openSync(file, 'a', 0o600));
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;');
  } catch (error) {
    db.close();
    const text = error instanceof Error ? error.message : String(error);
    if (/locked|busy/i.test(text)) return undefined;
    // Made anew by us it would be another file than the one that an owner may have locked.
    const next = isDiskFull(file)
      ? `free some space on the disk of ${dirname(file)}`
      : `remove ${file} while nothing uses its folder: it holds nothing, and is made anew`;
    throw Object.assign(new Error(`${file}: ${text}`, { cause: error }), { next });
  }
  return { release: () => db.close() };
}
