// Reads a whole store that nobody has open, and changes none of its files: what a backup takes and what is wrong with it.
import { StorageError } from '../storage-error.ts';
import type { Batch } from './batch.ts';
import { lastRevision } from './batch.ts';
import type { Database } from './database.ts';
import { examine, readDatabase } from './examine.ts';
import { openFailure } from './store-failures.ts';
import type { LoadedRow } from './writer-protocol.ts';

export interface ReadStore {
  readonly revision: number;
  readonly entries: readonly LoadedRow[];
}

/** Throws StorageError: Locked, Corrupt, Lost, Unsupported, WriteFailed. */
export function readStore(directory: string): ReadStore {
  const { isNew, missing } = examine(directory);
  // Nothing was ever written: as a store begins.
  if (isNew) return { revision: 1, entries: [] };
  try {
    return readDatabase(directory, (database) => wholeOf(database, missing));
  } catch (error) {
    throw openFailure(directory, error);
  }
}

/** undefined: none. Throws what hinders from telling. */
export function damageOf(directory: string): StorageError | undefined {
  try {
    readStore(directory);
    return undefined;
  } catch (error) {
    if (error instanceof StorageError && ['Corrupt', 'Lost'].includes(error.code)) return error;
    throw error;
  }
}

function wholeOf(database: Database, missing: readonly Batch[]): ReadStore {
  const entries = new Map<string, LoadedRow>();
  for (const row of database.rows()) entries.set(row.key, row);
  let { revision, floor } = database.meta();
  for (const _ of database.history(floor));
  const damage = database.structuralDamage();
  if (damage !== undefined) throw new Error(damage);
  for (const batch of missing) {
    bringIn(entries, batch);
    revision = lastRevision(batch);
  }
  return { revision, entries: [...entries.values()] };
}

/** As a start would do to the file, here in memory only. */
function bringIn(entries: Map<string, LoadedRow>, batch: Batch): void {
  let at = 0;
  batch.keys.forEach((key, i) => {
    const value = batch.values.subarray(at, at + batch.lengths[i]!);
    at += value.length;
    const remainingMs = batch.leases?.remainingMs[i] || undefined;
    if (batch.puts[i] === 1) entries.set(key, { key, revision: batch.revisions[i]!, value, remainingMs });
    else entries.delete(key);
  });
}
