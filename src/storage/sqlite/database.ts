// The store's file: one table of keys, one log of writes that holds the values, checksummed.
import { chmodSync, closeSync, existsSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { StorageError } from '../storage-error.ts';
import type { BatchMessage, HistoryRow, LoadedRow } from './writer-protocol.ts';

const formatVersion = 1;
const applicationId = 0x504f5254; // PORT
const fileName = 'state.db';
/** Made after the first commit: without it an empty database is new, with it an empty database is a loss. */
const markerName = 'format';

// A value is written once, in the log. A key's row names the log row that is its state; compaction deletes the
// log rows that no key names any more.
const schema = `
  CREATE TABLE log (
    revision INTEGER PRIMARY KEY, key TEXT NOT NULL, put INTEGER NOT NULL, previous INTEGER NOT NULL,
    checksum INTEGER NOT NULL, value BLOB NOT NULL
  ) STRICT;
  CREATE TABLE keys (key TEXT PRIMARY KEY, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO meta VALUES ('revision', 1), ('floor', 1);
  PRAGMA application_id = ${applicationId};
  PRAGMA user_version = ${formatVersion};
`;

export class Database {
  readonly #db: DatabaseSync;
  readonly #directory: string;
  readonly #insert: StatementSync;
  readonly #setKey: StatementSync;
  readonly #deleteKey: StatementSync;
  readonly #setMeta: StatementSync;

  constructor(directory: string) {
    this.#directory = directory;
    this.#db = openFile(directory);
    try {
      this.#insert = this.#db.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)');
      this.#setKey = this.#db.prepare(
        'INSERT INTO keys VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET revision = excluded.revision',
      );
      this.#deleteKey = this.#db.prepare('DELETE FROM keys WHERE key = ?');
      this.#setMeta = this.#db.prepare('UPDATE meta SET value = ? WHERE name = ?');
    } catch (error) {
      this.#db.close();
      throw corrupt(directory, error);
    }
  }

  meta(): { revision: number; floor: number } {
    const read = this.#db.prepare('SELECT value FROM meta WHERE name = ?');
    const value = (name: string): number => {
      const found = read.get(name)?.value;
      if (typeof found !== 'number') throw corrupt(this.#directory, new Error(`meta ${name} is missing`));
      return found;
    };
    return { revision: value('revision'), floor: value('floor') };
  }

  *rows(): Generator<LoadedRow, void, void> {
    const statement = this.#db.prepare(
      'SELECT k.key, k.revision, l.value, l.checksum, l.key AS logged FROM keys k LEFT JOIN log l ON l.revision = k.revision',
    );
    for (const row of this.#reading(statement)) {
      if (row.logged !== row.key) throw corrupt(this.#directory, new Error(`no value of ${String(row.key)}`));
      yield { key: row.key as string, revision: row.revision as number, value: this.#checked(row) };
    }
  }

  *history(floor: number): Generator<HistoryRow, void, void> {
    const statement = this.#db.prepare(
      `SELECT l.revision, l.key, l.put, l.previous, l.checksum, k.key IS NOT NULL AS present,
         CASE WHEN k.key IS NULL THEN l.value END AS value, p.value AS previousValue, p.checksum AS previousChecksum
       FROM log l LEFT JOIN keys k ON k.key = l.key AND k.revision = l.revision
         LEFT JOIN log p ON p.revision = l.previous AND l.previous <= ?
       WHERE l.revision > ? ORDER BY l.revision`,
    );
    for (const row of this.#reading(statement, floor, floor))
      yield {
        key: row.key as string,
        revision: row.revision as number,
        put: row.put === 1,
        previous: row.previous as number,
        value: row.present === 1 ? undefined : this.#checked(row),
        previousValue:
          row.previousValue === null
            ? undefined
            : this.#checked({ key: row.key, value: row.previousValue, checksum: row.previousChecksum }),
      };
  }

  *#reading(
    statement: StatementSync,
    ...parameters: number[]
  ): Generator<Record<string, unknown>, void, void> {
    try {
      yield* statement.iterate(...parameters) as Iterable<Record<string, unknown>>;
    } catch (error) {
      throw error instanceof StorageError ? error : corrupt(this.#directory, error);
    }
  }

  /** SQLite does not notice a bit that flips inside a value; the checksum does. */
  #checked(row: Record<string, unknown>): Uint8Array {
    const value = row.value as Uint8Array;
    if (checksumOf(row.key as string, value) !== row.checksum)
      throw corrupt(this.#directory, new Error(`the checksum of ${String(row.key)} is wrong`));
    return value;
  }

  write(batch: BatchMessage): void {
    this.#transaction(() => {
      let at = 0;
      for (let i = 0; i < batch.keys.length; i++) {
        const key = batch.keys[i]!;
        const revision = batch.revisions[i]!;
        const value = batch.values.subarray(at, at + batch.lengths[i]!);
        at += value.length;
        this.#insert.run(revision, key, batch.puts[i]!, batch.previous[i]!, checksumOf(key, value), value);
        if (batch.puts[i] === 1) this.#setKey.run(key, revision);
        else this.#deleteKey.run(key);
      }
      this.#setMeta.run(batch.revisions[batch.keys.length - 1]!, 'revision');
    });
  }

  /** Forgets a piece of history; true while there is more to forget. Small, so that writes wait a few ms at most. */
  compactSome(upTo: number, step = 500): boolean {
    const { floor, revision } = this.meta();
    const end = Math.min(upTo, revision);
    const next = Math.min(floor + step, end);
    if (next <= floor) return false;
    this.#transaction(() => {
      this.#db
        .prepare(
          'DELETE FROM log WHERE revision IN (SELECT previous FROM log WHERE revision > ? AND revision <= ? AND previous > 0)',
        )
        .run(floor, next);
      this.#db.prepare('DELETE FROM log WHERE revision > ? AND revision <= ? AND put = 0').run(floor, next);
      this.#setMeta.run(next, 'floor');
    });
    return next < end;
  }

  #transaction(run: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      run();
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#db.close();
  }
}

/** Over key and value, so that a value cannot be taken for another key's. */
const checksumOf = (key: string, value: Uint8Array): number => crc32(value, crc32(key));

function openFile(directory: string): DatabaseSync {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const path = join(directory, fileName);
  let db: DatabaseSync | undefined;
  try {
    // SQLite gives the files that it puts beside this one the same mode.
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
    db = new DatabaseSync(path, { timeout: 0 });
    // The lock lives as long as the connection: a second server on this directory is refused, not interleaved.
    db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    db.exec('PRAGMA wal_autocheckpoint = 2000; PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF;');
    db.exec('BEGIN IMMEDIATE; COMMIT;');
    prepareSchema(db, directory);
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof StorageError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    if (/locked|busy/i.test(text))
      throw new StorageError('Locked', `the store in ${directory} is in use by another process`, error);
    if (/malformed|not a database|corrupt|encrypted/i.test(text)) throw corrupt(directory, error);
    throw new StorageError('WriteFailed', `cannot open the store in ${directory}: ${text}`, error);
  }
}

function prepareSchema(db: DatabaseSync, directory: string): void {
  const pragma = (name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];
  const version = pragma('user_version');
  if (version === 0 && db.prepare('SELECT count(*) AS n FROM sqlite_schema').get()?.n === 0) {
    if (existsSync(join(directory, markerName))) throw corrupt(directory, new Error(`${fileName} is empty`));
    db.exec(`BEGIN IMMEDIATE; ${schema} COMMIT;`);
    writeMarker(directory);
    return;
  }
  if (pragma('application_id') !== applicationId)
    throw corrupt(directory, new Error(`${fileName} is not a store of this program`));
  if (version !== formatVersion)
    throw new StorageError(
      'Unsupported',
      `the store in ${directory} has format ${String(version)}; this program reads format ${formatVersion}`,
    );
  if (!existsSync(join(directory, markerName))) writeMarker(directory);
}

function writeMarker(directory: string): void {
  const file = openSync(join(directory, markerName), 'w', 0o600);
  try {
    writeSync(file, `${formatVersion}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function corrupt(directory: string, cause: unknown): StorageError {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new StorageError(
    'Corrupt',
    `the store in ${directory} is damaged (${text}): restore it from a backup; nothing was changed`,
    cause,
  );
}
