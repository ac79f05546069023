// Looks at a store before anything in it is changed: what it holds, what must be brought back, or why it is refused.
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Batch } from './batch.ts';
import { lastRevision } from './batch.ts';
import { type Database, firstFormatInMemory, openToRead } from './database.ts';
import { type JournalContents, readJournal } from './journal.ts';
import { formatVersion } from './schema.ts';
import { corrupt, lost, openFailure } from './store-failures.ts';

export const storeFiles = {
  database: 'state.db',
  /** SQLite's own log, and the index of it that only readers make. */
  log: 'state.db-wal',
  index: 'state.db-shm',
  /** SQLite's, of the first transaction: before the file has a log. */
  making: 'state.db-journal',
  journal: 'journal',
  /** Space that is held back. */
  reserve: 'reserve',
  /** Made when the store is complete: without it an empty database is new, with it an empty database is a loss. */
  marker: 'format',
} as const;

/** From this format on a store has a journal. */
const firstWithJournal = 2;

export interface Examined {
  /** Nothing was ever acknowledged here. */
  readonly isNew: boolean;
  /** Format that the marker names; 0: none. */
  readonly marked: number;
  /** The journal's generation, 0 when there is none. */
  readonly generation: number;
  /** What only the journal has. */
  readonly missing: readonly Batch[];
}

/** Throws StorageError: Locked, Corrupt, Lost, Unsupported, WriteFailed. Changes nothing. */
export function examine(directory: string): Examined {
  try {
    refuseFolders(directory);
    const marked = markedFormat(directory);
    const journal = readJournal(join(directory, storeFiles.journal));
    // One that was being made when it ended has nothing yet; what SQLite began is taken back by whoever writes first.
    const unmade = marked === 0 && sizeOf(directory, storeFiles.making) > 0;
    if (unmade || sizeOf(directory, storeFiles.database) === 0) {
      const isNew = marked === 0 && (journal?.slot?.acknowledged ?? 1) <= 1;
      if (!isNew) throw corrupt(directory, `${storeFiles.database} is empty or missing`);
      return { isNew, marked, generation: 0, missing: [] };
    }
    return examineFiles(directory, marked, journal);
  } catch (error) {
    throw openFailure(directory, error);
  }
}

/** SQLite would speak of the disk. */
function refuseFolders(directory: string): void {
  for (const name of Object.values(storeFiles)) {
    const path = join(directory, name);
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory())
      throw Object.assign(
        new Error(`${path} is a folder: move it away, and put the file back or restore a backup`),
        { code: 'EISDIR', syscall: 'open', path },
      );
  }
}

function markedFormat(directory: string): number {
  const path = join(directory, storeFiles.marker);
  if (!existsSync(path)) return 0;
  const format = Number.parseInt(readFileSync(path, 'utf8'), 10);
  return Number.isNaN(format) ? formatVersion : format;
}

const sizeOf = (directory: string, name: string): number =>
  statSync(join(directory, name), { throwIfNoEntry: false })?.size ?? 0;

function examineFiles(directory: string, marked: number, journal: ReturnType<typeof readJournal>): Examined {
  const hasLog = sizeOf(directory, storeFiles.log) > 0;
  return withoutTrace(directory, () => {
    const database = openToRead(join(directory, storeFiles.database));
    if (typeof database === 'string')
      return { isNew: database === 'empty' && marked === 0, marked, generation: 0, missing: [] };
    try {
      const found = ours(journal, marked, database.meta());
      const missing = found === undefined ? [] : missingFrom(directory, found, database.meta().revision);
      // After a clean end the opening reads all of it anyway; after a kill it would have changed the file by then.
      if (hasLog || missing.length > 0) readThrough(database);
      return { isNew: false, marked, generation: found?.slot.generation ?? 0, missing };
    } finally {
      database.close();
    }
  });
}

/** Reading makes SQLite's log, empty, and an index of it: what was not there is taken away again. */
export function withoutTrace<T>(directory: string, read: () => T): T {
  const made = [storeFiles.log, storeFiles.index]
    .map((name) => join(directory, name))
    .filter((path) => !existsSync(path));
  try {
    return read();
  } finally {
    for (const path of made) rmSync(path, { force: true });
  }
}

/** What `examine` did not refuse, of whatever format; an older one is made into today's in memory. */
export function readDatabase<T>(directory: string, read: (database: Database) => T): T {
  return withoutTrace(directory, () => {
    const path = join(directory, storeFiles.database);
    const opened = openToRead(path);
    const database = typeof opened === 'string' ? firstFormatInMemory(path) : opened;
    try {
      return read(database);
    } finally {
      database.close();
    }
  });
}

/** undefined: there need not be one. */
function ours(
  found: ReturnType<typeof readJournal>,
  marked: number,
  { store, revision }: { readonly store: string; readonly revision: number },
): JournalContents | undefined {
  if (found?.slot?.store === store) return found as JournalContents;
  // Until the marker is written nothing is acknowledged.
  if (marked < firstWithJournal && (marked > 0 || revision === 1)) return undefined;
  if (found === undefined) throw new Error('the journal is missing');
  if (found.slot === undefined) throw new Error('the journal cannot be read');
  throw new Error('the journal is that of another store');
}

/** Refuses when the journal does not have all that the database file lost. */
function missingFrom(directory: string, { records, acknowledged }: JournalContents, has: number): Batch[] {
  const missing: Batch[] = [];
  let revision = has;
  for (const { prior, batch } of records) {
    if (lastRevision(batch) <= revision) continue;
    if (prior !== revision) break;
    missing.push(batch);
    revision = lastRevision(batch);
  }
  if (revision < acknowledged) throw lost(directory, revision, acknowledged);
  return missing;
}

function readThrough(database: Database): void {
  for (const _ of database.rows());
  for (const _ of database.history(database.meta().floor));
  const damage = database.structuralDamage();
  if (damage !== undefined) throw new Error(damage);
}
