// What can still be read of a damaged store: the newest whole row of each key, from the database file and the journal.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { BackupEntry } from '../backup/backup-format.ts';
import { type LogRow, rowChecksum } from './checksums.ts';
import { storeFiles } from './examine.ts';
import { readJournal } from './journal.ts';
import { openFailure } from './store-failures.ts';

export interface Salvaged {
  readonly entries: readonly BackupEntry[];
  /** Keys whose last state is gone: what is kept of them is older, or nothing. */
  readonly harmed: readonly { readonly key: string; readonly kept: number | undefined }[];
  /** The highest revision that is known to have been given out. */
  readonly highest: number;
}

interface Newest {
  readonly revision: number;
  readonly value: Uint8Array | undefined;
}

/** Reads only. Throws StorageError when the store is in use. */
export function salvage(directory: string): Salvaged {
  const newest = new Map<string, Newest>();
  const named = new Map<string, number>();
  let highest = 1;
  const see = (key: string, state: Newest): void => {
    highest = Math.max(highest, state.revision);
    if ((newest.get(key)?.revision ?? 0) < state.revision) newest.set(key, state);
  };
  try {
    readDatabase(join(directory, storeFiles.database), see, (key, revision) => named.set(key, revision));
  } catch (error) {
    const failure = openFailure(directory, error);
    if (failure.code !== 'Corrupt') throw failure;
  }
  const journal = readJournal(join(directory, storeFiles.journal));
  if (journal?.slot !== undefined) {
    highest = Math.max(highest, journal.acknowledged);
    for (const { batch } of journal.records) {
      let at = 0;
      batch.keys.forEach((key, i) => {
        const value = batch.values.subarray(at, at + batch.lengths[i]!);
        at += value.length;
        see(key, { revision: batch.revisions[i]!, value: batch.puts[i] === 1 ? value : undefined });
      });
    }
  }
  const harmed = [...named]
    .filter(([key, revision]) => (newest.get(key)?.revision ?? 0) < revision)
    .map(([key]) => ({ key, kept: newest.get(key)?.revision }));
  const entries: BackupEntry[] = [];
  for (const [key, { revision, value }] of newest)
    if (value !== undefined) entries.push({ key, revision, value });
  for (const revision of named.values()) highest = Math.max(highest, revision);
  return { entries, harmed, highest };
}

function readDatabase(
  path: string,
  see: (key: string, state: Newest) => void,
  name: (key: string, revision: number) => void,
): void {
  const db = new DatabaseSync(path, { timeout: 0, readOnly: true });
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    // From both ends: a page that can't be read stops one of them.
    for (const order of ['ASC', 'DESC'])
      eachReadable(db, `SELECT * FROM log ORDER BY revision ${order}`, (row) => {
        const { revision, key, put, value, checksum } = row as unknown as LogRow & { checksum: number };
        if (rowChecksum(row as unknown as LogRow) !== checksum) return;
        see(key, { revision, value: put === 1 ? value : undefined });
      });
    for (const order of ['ASC', 'DESC'])
      eachReadable(db, `SELECT key, revision FROM keys ORDER BY key ${order}`, (row) =>
        name(row.key as string, row.revision as number),
      );
  } finally {
    db.close();
  }
}

function eachReadable(db: DatabaseSync, query: string, use: (row: Record<string, unknown>) => void): void {
  try {
    for (const row of db.prepare(query).iterate()) use(row);
  } catch {
    // The rest of this direction is lost.
  }
}
