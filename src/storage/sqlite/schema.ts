// The tables of the database file, and how an older file becomes one of today's format.
import type { DatabaseSync } from 'node:sqlite';
import {
  firstChecksum,
  leaseChecksum,
  type Meta,
  metaChecksum,
  rowChecksum,
  stateDigest,
} from './checksums.ts';

export const formatVersion = 3;
const applicationId = 0x504f5254; // PORT

// A value is written once, in the log. A key's row names the log row that is its state; compaction deletes the
// log rows that no key names any more.
// Rows with a lease end when the store has been open for so long as `until` says; the row of a key's earlier state means
// nothing any more, and goes with that state.
const leaseTables = (schema: 'main' | 'temp'): string => `
  CREATE TABLE ${schema}.leased (
    revision INTEGER PRIMARY KEY, until INTEGER NOT NULL, checksum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE ${schema}.lease_clock (open_ms INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT;
  INSERT INTO ${schema}.lease_clock VALUES (0, ${leaseChecksum(0, 0)});
`;
const tables = `
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY, key TEXT NOT NULL, put INTEGER NOT NULL, previous INTEGER NOT NULL,
    prior INTEGER NOT NULL, checksum INTEGER NOT NULL, value BLOB NOT NULL
  ) STRICT;
  CREATE TABLE keys (key TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE meta (
    store TEXT NOT NULL, revision INTEGER NOT NULL, floor INTEGER NOT NULL, objects INTEGER NOT NULL,
    digest INTEGER NOT NULL, checksum INTEGER NOT NULL
  ) STRICT;
  ${leaseTables('main')}
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`;

/** Of format 1: the sums were of keys and values alone. */
export const firstTables = `
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY, key TEXT NOT NULL, put INTEGER NOT NULL, previous INTEGER NOT NULL,
    checksum INTEGER NOT NULL, value BLOB NOT NULL
  ) STRICT;
  CREATE TABLE keys (key TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

export class UnsupportedFormat extends Error {}

/** Inside a transaction. */
export function createSchema(db: DatabaseSync, meta: Meta): void {
  db.exec(tables);
  insertMeta(db, meta);
}

function insertMeta(db: DatabaseSync, meta: Meta): void {
  const { store, revision, floor, objects, digest } = meta;
  const insert = db.prepare('INSERT INTO meta VALUES (?, ?, ?, ?, ?, ?)');
  insert.run(store, revision, floor, objects, digest, metaChecksum(meta));
}

function pragma(db: DatabaseSync, name: string): unknown {
  return Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
}

/** `new`: a file without tables. */
export function formatOf(db: DatabaseSync): 'new' | 'current' | 'second' | 'first' {
  const version = pragma(db, 'user_version');
  if (version === 0 && db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n === 0) return 'new';
  if (pragma(db, 'application_id') !== applicationId)
    throw new Error('state.db is not a store of this program');
  if (version === formatVersion) return 'current';
  if (version === 2) return 'second';
  if (version === 1) return 'first';
  throw new UnsupportedFormat(
    `has format ${String(version)}; this program reads format ${formatVersion} and before`,
  );
}

/** Format 2 had no leases. */
export function upgradeSecondFormat(db: DatabaseSync): void {
  db.exec(`${leaseTables('main')} PRAGMA user_version = ${formatVersion};`);
}

/** A file of format 2 that is only read is read as one of today's. */
export const withoutLeases = (db: DatabaseSync): void => db.exec(leaseTables('temp'));

/** Format 1 had neither a store's name nor sums over more than values. */
export function upgradeFirstFormat(db: DatabaseSync, store: string): void {
  const old = (name: string): number =>
    db.prepare('SELECT value FROM meta WHERE name = ?').get(name)?.value as number;
  const [revision, floor] = [old('revision'), old('floor')];
  db.exec('ALTER TABLE log RENAME TO log1; DROP TABLE meta; ALTER TABLE keys RENAME TO keys1;');
  db.exec(tables);
  const insert = db.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)');
  let prior = 0;
  for (const row of db.prepare('SELECT * FROM log1 ORDER BY revision').iterate()) {
    const { revision: at, key, put, previous, value, checksum } = row as unknown as FirstRow;
    if (firstChecksum(key, value) !== checksum) throw new Error(`the checksum of ${key} is wrong`);
    const next = { revision: at, key, put, previous, prior, value };
    insert.run(at, key, put, previous, prior, rowChecksum(next), value);
    prior = at;
  }
  db.exec('INSERT INTO keys SELECT key, revision FROM keys1; DROP TABLE log1; DROP TABLE keys1;');
  let objects = 0;
  let digest = 0;
  for (const row of db.prepare('SELECT key, revision FROM keys').iterate()) {
    objects++;
    digest = (digest + stateDigest(row.key as string, row.revision as number)) >>> 0;
  }
  insertMeta(db, { store, revision, floor, objects, digest });
}

interface FirstRow {
  readonly revision: number;
  readonly key: string;
  readonly put: number;
  readonly previous: number;
  readonly checksum: number;
  readonly value: Uint8Array;
}
