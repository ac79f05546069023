// The database file: one table of keys, one log of writes that holds the values, and sums over both.
import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import type { Batch } from './batch.ts';
import { lastRevision } from './batch.ts';
import {
  type LogRow,
  leaseChecksum,
  type Meta,
  metaChecksum,
  rowChecksum,
  stateDigest,
} from './checksums.ts';
import type { Reserve } from './reserve.ts';
import {
  createSchema,
  firstTables,
  formatOf,
  upgradeFirstFormat,
  upgradeSecondFormat,
  withoutLeases,
} from './schema.ts';
import type { HistoryRow, LoadedRow } from './writer-protocol.ts';

export interface DatabaseOptions {
  readonly path: string;
  /** The name that a new store gets. */
  readonly newName: string;
  /** False: a file without tables is a loss, not a beginning. */
  readonly mayBeNew: boolean;
}

const pageBytes = 4096;
/** Few enough that a write waits a few ms at most. */
const shrinkPages = 128;
const minFreePages = 512;
/** For what is written on a full disk, a page or two each time, until history is forgotten. */
const spareBytes = 2 << 20;
/** Of the table that they are had by: its other pages. */
const spareOverhead = 256 << 10;
/** The spare pages pass through the log once, each with a head. */
const logOverhead = 256 << 10;
const spareLogBytes = spareBytes + logOverhead;

type Row = Record<string, unknown>;

/** Throws SQLite's errors, and Error when what is read is not what was written. */
export class Database {
  readonly #db: DatabaseSync;
  readonly #insert: StatementSync;
  readonly #setKey: StatementSync;
  readonly #deleteKey: StatementSync;
  readonly #setMeta: StatementSync;
  readonly #setLease: StatementSync;
  readonly #setLeaseClock: StatementSync;
  /** How long the store had been open before this time, in all its life. */
  readonly #openedAt: number;
  readonly #log: string;
  readonly #path: string;
  /** Closed after the database: closing any other handle of its file would end SQLite's lock. */
  #file: number | undefined;
  #meta: Meta;

  constructor(db: DatabaseSync, path: string) {
    this.#path = path;
    this.#log = `${path}-wal`;
    this.#db = db;
    try {
      this.#insert = this.#db.prepare('INSERT INTO log VALUES (?, ?, ?, ?, ?, ?, ?)');
      this.#setKey = this.#db.prepare(
        'INSERT INTO keys VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET revision = excluded.revision',
      );
      this.#deleteKey = this.#db.prepare('DELETE FROM keys WHERE key = ?');
      this.#setMeta = this.#db.prepare(
        'UPDATE meta SET revision = ?, floor = ?, objects = ?, digest = ?, checksum = ?',
      );
      this.#setLease = this.#db.prepare('INSERT INTO leased VALUES (?, ?, ?)');
      this.#setLeaseClock = this.#db.prepare('UPDATE lease_clock SET open_ms = ?, checksum = ?');
      this.#meta = readMeta(this.#db);
      this.#openedAt = readLeaseClock(this.#db);
    } catch (error) {
      this.#db.close();
      throw error;
    }
  }

  meta(): Meta {
    return this.#meta;
  }

  *rows(): Generator<LoadedRow, void, void> {
    const statement = this.#db.prepare(
      `SELECT k.key AS name, k.revision AS at, l.* FROM keys k LEFT JOIN log l ON l.revision = k.revision`,
    );
    let objects = 0;
    let digest = 0;
    const leased = this.#remaining();
    for (const row of statement.iterate() as Iterable<Row>) {
      const key = row.name as string;
      if (row.key !== key) throw new Error(`no value of ${key}`);
      objects++;
      digest = (digest + stateDigest(key, row.at as number)) >>> 0;
      const loaded = { key, revision: row.at as number, value: checked(row as unknown as StoredRow).value };
      const remainingMs = leased.get(loaded.revision);
      yield remainingMs === undefined ? loaded : { ...loaded, remainingMs };
    }
    if (objects !== this.#meta.objects || digest !== this.#meta.digest)
      throw new Error(`${objects} objects are there, ${this.#meta.objects} were stored, or not these`);
  }

  /** What is left of the lease of what was written at a revision. */
  #remaining(): Map<number, number> {
    const remaining = new Map<number, number>();
    for (const row of this.#db.prepare('SELECT * FROM leased').iterate()) {
      const { revision, until, checksum } = row as { revision: number; until: number; checksum: number };
      if (leaseChecksum(revision, until) !== checksum)
        throw new Error(`the checksum of the lease at ${revision} is wrong`);
      remaining.set(revision, Math.max(1, until - this.#openedAt));
    }
    return remaining;
  }

  *history(floor: number): Generator<HistoryRow, void, void> {
    const statement = this.#db.prepare(
      `SELECT l.*, k.key IS NOT NULL AS present, p.revision AS r, p.key AS k, p.put AS p, p.previous AS pp,
         p.prior AS pr, p.checksum AS c, p.value AS v
       FROM log l LEFT JOIN keys k ON k.key = l.key AND k.revision = l.revision
         LEFT JOIN log p ON p.revision = l.previous AND l.previous <= ?
       WHERE l.revision > ? ORDER BY l.revision`,
    );
    let last = 0;
    for (const row of statement.iterate(floor, floor) as Iterable<Row>) {
      const { key, revision, put, previous, prior, value } = checked(row as unknown as StoredRow);
      if (last === 0 ? prior > floor : prior !== last)
        throw new Error(`history between ${last} and ${revision} is missing`);
      last = revision;
      yield {
        key,
        revision,
        put: put === 1,
        previous,
        value: row.present === 1 ? undefined : value,
        previousValue: row.v === null ? undefined : checkedBefore(row),
      };
    }
    if (this.#meta.revision > floor && last !== this.#meta.revision)
      throw new Error(`history after ${last} is missing`);
  }

  /** What SQLite itself finds wrong with the file's pages; undefined: nothing. */
  structuralDamage(): string | undefined {
    const found = Object.values(this.#db.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
    return found === 'ok' ? undefined : String(found);
  }

  /** All of them or none; `beforeCommit` may still refuse. */
  write(batches: readonly Batch[], beforeCommit: () => void = () => {}): void {
    this.#transaction(() => {
      let meta = this.#meta;
      for (const batch of batches) meta = this.#writeRows(meta, batch);
      this.#writeMeta(meta);
      beforeCommit();
      return meta;
    });
  }

  #writeRows(before: Meta, batch: Batch): Meta {
    let { revision: prior, objects, digest } = before;
    let at = 0;
    for (let i = 0; i < batch.keys.length; i++) {
      const key = batch.keys[i]!;
      const revision = batch.revisions[i]!;
      const previous = batch.previous[i]!;
      const put = batch.puts[i]!;
      const value = batch.values.subarray(at, at + batch.lengths[i]!);
      at += value.length;
      const sum = rowChecksum({ revision, key, put, previous, prior, value });
      this.#insert.run(revision, key, put, previous, prior, sum, value);
      prior = revision;
      if (previous > 0) {
        objects--;
        digest -= stateDigest(key, previous);
      }
      if (put === 1) {
        this.#setKey.run(key, revision);
        objects++;
        digest += stateDigest(key, revision);
      } else this.#deleteKey.run(key);
    }
    if (batch.leases !== undefined) this.#writeLeases(batch.revisions, batch.leases);
    return { ...before, revision: lastRevision(batch), objects, digest: digest >>> 0 };
  }

  #writeLeases(revisions: Float64Array, { remainingMs, openMs = 0 }: NonNullable<Batch['leases']>): void {
    this.#writeLeaseClock(openMs);
    remainingMs.forEach((ms, i) => {
      if (ms > 0) this.#writeLease(revisions[i]!, this.#openedAt + openMs + ms);
    });
  }

  #writeLease(revision: number, until: number): void {
    this.#setLease.run(revision, until, leaseChecksum(revision, until));
  }

  /** The store has been open for so long this time. */
  #writeLeaseClock(openMs: number): void {
    const total = this.#openedAt + openMs;
    this.#setLeaseClock.run(total, leaseChecksum(0, total));
  }

  /** To be called at the end: what is left of leases goes on from there. */
  keepLeaseClock(openMs: number): void {
    this.#transaction(() => {
      this.#writeLeaseClock(openMs);
      return this.#meta;
    });
  }

  /** Fills a new store with the state at `revision`; there is no history before it. */
  fill(entries: Iterable<LoadedRow>, revision: number): void {
    this.#transaction(() => {
      let objects = 0;
      let digest = 0;
      for (const { key, revision: at, value, remainingMs = 0 } of entries) {
        if (remainingMs > 0) this.#writeLease(at, this.#openedAt + remainingMs);
        const row = { revision: at, key, put: 1, previous: 0, prior: 0, value };
        this.#insert.run(at, key, 1, 0, 0, rowChecksum(row), value);
        this.#setKey.run(key, at);
        objects++;
        digest += stateDigest(key, at);
      }
      const meta = { ...this.#meta, revision, floor: revision, objects, digest: digest >>> 0 };
      this.#writeMeta(meta);
      return meta;
    });
  }

  /** Forgets a piece of history; true while there is more to forget. Small, so that writes wait a few ms at most. */
  compactSome(upTo: number, step = 500): boolean {
    const { floor, revision } = this.#meta;
    const end = Math.min(upTo, revision);
    const next = Math.min(floor + step, end);
    if (next <= floor) return false;
    this.#transaction(() => {
      for (const table of ['leased', 'log'])
        this.#db
          .prepare(
            `DELETE FROM ${table} WHERE revision IN (SELECT previous FROM log WHERE revision > ? AND revision <= ? AND previous > 0)`,
          )
          .run(floor, next);
      this.#db.prepare('DELETE FROM log WHERE revision > ? AND revision <= ? AND put = 0').run(floor, next);
      const meta = { ...this.#meta, floor: next };
      this.#writeMeta(meta);
      return meta;
    });
    return next < end;
  }

  /** Writes what is there already: shows whether a write would fail. */
  touch(): void {
    this.#transaction(() => {
      this.#writeMeta(this.#meta);
      return this.#meta;
    });
  }

  /** Gives some of the pages that nothing lies in back to the disk; true while there are many more. */
  shrinkSome(): boolean {
    const free = this.#number('freelist_count');
    // Some stay for what is written next.
    if (free < minFreePages || free * 4 < this.#number('page_count')) return false;
    this.#db.prepare(`PRAGMA incremental_vacuum(${shrinkPages})`).all();
    return true;
  }

  /** All pages anew: what was deleted lies in none of them, nor in the room between values. */
  rewrite(): void {
    this.#db.exec('PRAGMA secure_delete = ON;');
    try {
      this.#db.exec('VACUUM;');
    } finally {
      this.#db.exec('PRAGMA secure_delete = OFF;');
    }
  }

  /** How much shorter the file will be at the next checkpoint. */
  cutBytes(): number {
    return statSync(this.#path).size - this.#number('page_count') * pageBytes;
  }

  #number(pragma: string): number {
    return Object.values(this.#db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0] as number;
  }

  /**
   * Puts pages into the file that nothing lies in, out of what is held back: writing goes on in them when the file can't
   * grow. As many as file and log got space for: all of it would be given back to the disk if they did not fit.
   */
  addSparePages(reserve: Reserve): void {
    this.#file ??= openSync(this.#path, 'r+');
    const log = openSync(this.#log, 'r+');
    const [fileBefore, logBefore] = [this.#number('page_count') * pageBytes, this.logBytes()];
    try {
      // What lies behind SQLite's own ends is nothing to it.
      reserve.moveTo([
        { file: this.#file, length: fileBefore + spareBytes },
        { file: log, length: logBefore + spareLogBytes },
      ]);
    } finally {
      closeSync(log);
    }
    const had = Math.min(statSync(this.#path).size - fileBefore, this.logBytes() - logBefore - logOverhead);
    // Before any other checkpoint: that would cut off what the file was lengthened by.
    this.#db.exec('DROP TABLE IF EXISTS spare; CREATE TABLE spare (bytes BLOB)');
    if (had > spareOverhead)
      this.#db.prepare('INSERT INTO spare VALUES (zeroblob(?))').run(had - spareOverhead);
    this.checkpoint({ keepLogSpace: true });
    this.#db.exec('DROP TABLE spare');
  }

  /** Length of the write-ahead log. */
  logBytes(): number {
    return statSync(this.#log, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Everything is in the database file, synced. The log is empty, or begins anew in the space that it has. */
  checkpoint({ keepLogSpace = false }: { readonly keepLogSpace?: boolean } = {}): void {
    const mode = keepLogSpace ? 'RESTART' : 'TRUNCATE';
    const result = this.#db.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
    if (result?.busy !== 0) throw new Error('the checkpoint did not end');
  }

  #writeMeta(meta: Meta): void {
    this.#setMeta.run(meta.revision, meta.floor, meta.objects, meta.digest, metaChecksum(meta));
  }

  #transaction(run: () => Meta): void {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const meta = run();
      this.#db.exec('COMMIT');
      this.#meta = meta;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  close(): void {
    this.#db.close();
    if (this.#file !== undefined) closeSync(this.#file);
  }
}

type StoredRow = LogRow & { readonly checksum: number };

function checked(row: StoredRow): StoredRow {
  if (rowChecksum(row) !== row.checksum) throw new Error(`the checksum of ${row.key} is wrong`);
  return row;
}

function checkedBefore({ r, k, p, pp, pr, c, v }: Row): Uint8Array {
  const row = { revision: r, key: k, put: p, previous: pp, prior: pr, checksum: c, value: v };
  return checked(row as unknown as StoredRow).value;
}

function readMeta(db: DatabaseSync): Meta {
  const rows = db.prepare('SELECT * FROM meta').all() as unknown as (Meta & { checksum: number })[];
  const meta = rows[0];
  if (meta === undefined || rows.length > 1 || metaChecksum(meta) !== meta.checksum)
    throw new Error('the checksum of the store is wrong');
  const { store, revision, floor, objects, digest } = meta;
  return { store, revision, floor, objects, digest };
}

function readLeaseClock(db: DatabaseSync): number {
  const { open_ms: openMs, checksum } = db.prepare('SELECT * FROM lease_clock').get() as Record<
    string,
    number
  >;
  if (leaseChecksum(0, openMs!) !== checksum) throw new Error('the checksum of the clock of leases is wrong');
  return openMs!;
}

/** Changes nothing in the file. `empty`: without tables; `older`: of a format that is read only to be replaced. */
export function openToRead(path: string): Database | 'empty' | 'older' {
  const db = new DatabaseSync(path, { timeout: 0, readOnly: true });
  try {
    const format = formatOf(db);
    if (format === 'second') withoutLeases(db);
    if (format === 'current' || format === 'second') return new Database(db, path);
    db.close();
    return format === 'new' ? 'empty' : 'older';
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}

/** A file of the first format as one of today's, which the file stays without. */
export function firstFormatInMemory(path: string): Database {
  const db = new DatabaseSync(':memory:');
  try {
    db.prepare('ATTACH ? AS file').run(`${pathToFileURL(path).href}?mode=ro`);
    db.exec(firstTables);
    for (const table of ['log', 'keys', 'meta'])
      db.exec(`INSERT INTO main.${table} SELECT * FROM file.${table}`);
    db.exec('DETACH file');
    upgradeFirstFormat(db, 'in memory');
    return new Database(db, path);
  } catch (error) {
    db.close();
    throw error;
  }
}

export function openToWrite({ path, newName, mayBeNew }: DatabaseOptions): Database {
  // SQLite gives the files that it puts beside this one the same mode.
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    // The lock lives as long as the connection: a second server on this directory is refused, not interleaved.
    // Only checkpoints are synced: until then the journal holds what a power cut takes from the write-ahead log.
    db.exec('PRAGMA locking_mode = EXCLUSIVE;');
    // Said to an older file it would already change it.
    if (statSync(path).size === 0) db.exec('PRAGMA auto_vacuum = INCREMENTAL;');
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;');
    db.exec('PRAGMA cache_size = -8192; PRAGMA trusted_schema = OFF;');
    db.exec('BEGIN IMMEDIATE; COMMIT;');
    const format = formatOf(db);
    if (format === 'new' && !mayBeNew) throw new Error('state.db is empty');
    if (format !== 'current') {
      db.exec('BEGIN IMMEDIATE');
      if (format === 'first') upgradeFirstFormat(db, newName);
      else if (format === 'second') upgradeSecondFormat(db);
      else createSchema(db, { store: newName, revision: 1, floor: 1, objects: 0, digest: 0 });
      db.exec('COMMIT');
    }
    if (format === 'first') db.exec('PRAGMA auto_vacuum = INCREMENTAL; VACUUM;');
    return new Database(db, path);
  } catch (error) {
    if (db.isOpen) db.close();
    throw error;
  }
}
