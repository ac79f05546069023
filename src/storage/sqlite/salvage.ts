// What can still be read of a damaged store: the newest whole row of each key, from the database file and the journal.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { BackupEntry } from '../backup/backup-format.ts';
import type { Batch } from './batch.ts';
import {
  type LogRow,
  leaseChecksum,
  type Meta,
  metaChecksum,
  rowChecksum,
  stateDigest,
} from './checksums.ts';
import { storeFiles, withoutTrace } from './examine.ts';
import { readJournal } from './journal.ts';
import { openFailure } from './store-failures.ts';

export interface Salvaged {
  readonly entries: readonly BackupEntry[];
  /** Keys whose last state is gone: what is kept of them is older, or nothing, or of what was deleted since. */
  readonly harmed: readonly { readonly key: string; readonly kept: number | undefined }[];
  /** The highest revision that is known to have been given out. */
  readonly highest: number;
}

interface Newest {
  readonly revision: number;
  readonly value: Uint8Array | undefined;
  readonly remainingMs?: number | undefined;
}

interface FromDatabase {
  /** The revision of each key's state. */
  readonly named: ReadonlyMap<string, number>;
  /** Up to here `named` is all there is: a key that it lacks was deleted. Undefined when that can't be known. */
  readonly namedUpTo: number | undefined;
  /** No row of the log is missing or damaged. */
  readonly logIsWhole: boolean;
}
const nothing: FromDatabase = { named: new Map(), namedUpTo: undefined, logIsWhole: false };

type See = (key: string, state: Newest) => void;

/** Reads only. Throws StorageError when the store is in use. */
export function salvage(directory: string): Salvaged {
  const newest = new Map<string, Newest>();
  let highest = 1;
  const see: See = (key, state) => {
    highest = Math.max(highest, state.revision);
    if ((newest.get(key)?.revision ?? 0) < state.revision) newest.set(key, state);
  };
  let database = nothing;
  try {
    database = withoutTrace(directory, () => readDatabase(join(directory, storeFiles.database), see));
  } catch (error) {
    const failure = openFailure(directory, error);
    if (failure.code !== 'Corrupt') throw failure;
  }
  const journal = readJournal(join(directory, storeFiles.journal));
  if (journal?.slot !== undefined) {
    highest = Math.max(highest, journal.acknowledged);
    seeJournal(journal.records, see);
  }
  const { named } = database;
  for (const revision of named.values()) highest = Math.max(highest, revision);
  const harmed = [...named]
    .filter(([key, revision]) => (newest.get(key)?.revision ?? 0) < revision)
    .map(([key]) => ({ key, kept: newest.get(key)?.revision }));
  const entries: BackupEntry[] = [];
  for (const [key, { revision, value, remainingMs }] of newest) {
    if (value === undefined) continue;
    const fate = named.has(key) ? 'there' : fateOf(revision, database);
    if (fate === 'deleted') continue;
    if (fate === 'unknown') harmed.push({ key, kept: revision });
    entries.push({ key, revision, value, remainingMs });
  }
  return { entries, harmed, highest };
}

/** Of a key that the database does not name: the row that tells of its deletion may be the one that is damaged. */
function fateOf(revision: number, { namedUpTo, logIsWhole }: FromDatabase): 'there' | 'deleted' | 'unknown' {
  if (namedUpTo !== undefined) return revision <= namedUpTo ? 'deleted' : 'there';
  return logIsWhole ? 'there' : 'unknown';
}

function seeJournal(records: readonly { readonly batch: Batch }[], see: See): void {
  for (const { batch } of records) {
    let at = 0;
    batch.keys.forEach((key, i) => {
      const value = batch.values.subarray(at, at + batch.lengths[i]!);
      at += value.length;
      const remainingMs = batch.leases?.remainingMs[i] || undefined;
      see(key, {
        revision: batch.revisions[i]!,
        value: batch.puts[i] === 1 ? value : undefined,
        remainingMs,
      });
    });
  }
}

function readDatabase(path: string, see: See): FromDatabase {
  const db = new DatabaseSync(path, { timeout: 0, readOnly: true });
  const named = new Map<string, number>();
  let logIsWhole = true;
  try {
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
    const leases = leasesIn(db);
    // From both ends: a page that can't be read stops one of them.
    for (const order of ['ASC', 'DESC']) {
      const read = eachReadable(db, `SELECT * FROM log ORDER BY revision ${order}`, (row) => {
        const { revision, key, put, value, checksum } = row as unknown as LogRow & { checksum: number };
        if (rowChecksum(row as unknown as LogRow) !== checksum) logIsWhole = false;
        else
          see(key, {
            revision,
            value: put === 1 ? value : undefined,
            remainingMs: leases.get(revision),
          });
      });
      logIsWhole &&= read;
    }
    for (const order of ['ASC', 'DESC'])
      eachReadable(db, `SELECT key, revision FROM keys ORDER BY key ${order}`, (row) =>
        named.set(row.key as string, row.revision as number),
      );
    return { named, namedUpTo: completeUpTo(db, named), logIsWhole };
  } finally {
    db.close();
  }
}

/** What is left of the leases that can still be read; what has lost its own stays. */
function leasesIn(db: DatabaseSync): ReadonlyMap<number, number> {
  const remaining = new Map<number, number>();
  let openMs = 0;
  eachReadable(db, 'SELECT 0 AS revision, open_ms AS until, checksum FROM lease_clock', (row) => {
    if (isWholeLease(row)) openMs = row['until'] as number;
  });
  for (const order of ['ASC', 'DESC'])
    eachReadable(db, `SELECT * FROM leased ORDER BY revision ${order}`, (row) => {
      if (isWholeLease(row))
        remaining.set(row['revision'] as number, Math.max(1, (row['until'] as number) - openMs));
    });
  return remaining;
}

const isWholeLease = ({ revision, until, checksum }: Record<string, unknown>): boolean =>
  leaseChecksum(revision as number, until as number) === checksum;

/** The revision of which `named` is the whole state: its number and sum say so. */
function completeUpTo(db: DatabaseSync, named: ReadonlyMap<string, number>): number | undefined {
  let meta: (Meta & { checksum: number }) | undefined;
  eachReadable(db, 'SELECT * FROM meta', (row) => {
    meta = row as unknown as Meta & { checksum: number };
  });
  if (meta === undefined || metaChecksum(meta) !== meta.checksum) return undefined;
  let digest = 0;
  for (const [key, revision] of named) digest = (digest + stateDigest(key, revision)) >>> 0;
  return named.size === meta.objects && digest === meta.digest ? meta.revision : undefined;
}

/** False when some of it can't be read. */
function eachReadable(db: DatabaseSync, query: string, use: (row: Record<string, unknown>) => void): boolean {
  try {
    for (const row of db.prepare(query).iterate()) use(row);
    return true;
  } catch {
    // The rest of this direction is lost.
    return false;
  }
}
