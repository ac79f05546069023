// The store on disk: a database file and a journal, each of which makes up for what the other lost.
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../base/random.ts';
import { makeFolderDurably, syncFolder } from '../../component-base/durable-file.ts';
import { StorageError } from '../storage-error.ts';
import { type Batch, lastRevision } from './batch.ts';
import { type Database, openToWrite } from './database.ts';
import { type Examined, examine, storeFiles } from './examine.ts';
import { Journal } from './journal.ts';
import { hasHeadroom, Reserve } from './reserve.ts';
import { formatVersion } from './schema.ts';
import { broken, isFailedSync, openFailure, writeFailure } from './store-failures.ts';
import { WaitingBatches } from './waiting-batches.ts';
import type { HistoryRow, LoadedRow } from './writer-protocol.ts';

/**
 * The journal may grow to this before everything is brought into the database file. SQLite's log to half of it: by so much
 * the file grows then, which must be had from what is held back when the disk is full.
 */
const defaultCheckpointBytes = 8 << 20;
/** SQLite's log, and what its file is too long by, is given back to the disk at rest when it is more than this. */
const restingBytes = 1 << 20;

interface StoreOptions {
  readonly checkpointBytes?: number;
  /** A batch that was written is not read any more. */
  readonly release?: (batch: Batch) => void;
}

export class DurableStore {
  readonly #directory: string;
  readonly #random: Random;
  readonly #checkpointBytes: number;
  readonly #database: Database;
  readonly #examined: Examined;
  readonly #waiting: WaitingBatches;
  /** The database could not take what waits: nothing more does, so that the next write tells. */
  #isBehind = false;
  /** Absent until it may be written. */
  #journal: Journal | undefined;
  #reserve: Reserve | undefined;
  #acknowledged: number;
  #broken: StorageError | undefined;
  /** The disk is: nothing is given back to it, for somebody else would take it. */
  #isFull = false;

  /** Throws StorageError: Locked, Corrupt, Lost, Unsupported, WriteFailed. What is refused is left as it was. */
  constructor(directory: string, random: Random, options: StoreOptions = {}) {
    this.#checkpointBytes = options.checkpointBytes ?? defaultCheckpointBytes;
    this.#waiting = new WaitingBatches(options.release ?? (() => {}));
    this.#directory = directory;
    this.#random = random;
    makeDirectory(directory);
    this.#examined = examine(directory);
    try {
      this.#database = openToWrite({
        path: join(directory, storeFiles.database),
        newName: this.#token(),
        mayBeNew: this.#examined.isNew,
      });
    } catch (error) {
      throw openFailure(directory, error);
    }
    try {
      this.#bringBack();
    } catch (error) {
      this.#database.close();
      throw openFailure(directory, error);
    }
    this.#acknowledged = this.revision();
  }

  /** On a full disk with what was held back for that. */
  #bringBack(): void {
    try {
      this.#writeMissing();
    } catch (error) {
      if (writeFailure(error).code !== 'NoSpace') throw error;
      rmSync(join(this.#directory, storeFiles.reserve), { force: true });
      this.#writeMissing();
    }
  }

  #writeMissing(): void {
    const missing = this.#examined.missing.filter((batch) => lastRevision(batch) > this.revision());
    if (missing.length > 0) this.#database.write(missing);
    this.#database.checkpoint();
  }

  /** A store that nobody ever used gets a state; watches begin at `revision`. */
  fill(entries: Iterable<LoadedRow>, revision: number): void {
    if (!this.#examined.isNew) throw new Error(`the store in ${this.#directory} is not new`);
    this.#database.fill(entries, revision);
    this.#database.checkpoint();
  }

  /** To be called once all of it was read, and found whole: from now on it can be written. */
  start(): void {
    try {
      const base = this.revision();
      this.#journal = new Journal(join(this.#directory, storeFiles.journal), {
        store: this.#database.meta().store,
        generation: this.#examined.generation + 1,
        salt: this.#token(),
        base,
        acknowledged: base,
      });
      this.#reserve = new Reserve(join(this.#directory, storeFiles.reserve));
      if (this.#examined.marked < formatVersion) writeMarker(this.#directory);
    } catch (error) {
      throw openFailure(this.#directory, error);
    }
  }

  revision(): number {
    return this.#waiting.revision() ?? this.#database.meta().revision;
  }

  floor(): number {
    return this.#database.meta().floor;
  }

  rows(): Generator<LoadedRow, void, void> {
    return this.#reading(this.#database.rows());
  }

  history(floor: number): Generator<HistoryRow, void, void> {
    return this.#reading(this.#database.history(floor));
  }

  /** undefined: none. */
  structuralDamage(): StorageError | undefined {
    const damage = this.#database.structuralDamage();
    if (damage === undefined) return undefined;
    this.#broken = openFailure(this.#directory, new Error(damage));
    return this.#broken;
  }

  *#reading<R>(rows: Generator<R, void, void>): Generator<R, void, void> {
    try {
      this.#bringIn();
      yield* rows;
    } catch (error) {
      throw openFailure(this.#directory, error);
    }
  }

  /** Returns when the batch is durable. `urgent`: it may use the space that is held back. */
  write(batch: Batch, urgent = false): void {
    if (this.#broken !== undefined) throw this.#broken;
    try {
      if (urgent) this.#writeUrgently(batch);
      else {
        this.#hold();
        this.#write(batch);
      }
    } catch (error) {
      const failure = writeFailure(error);
      if (failure.code === 'NoSpace') this.#noticeFull();
      throw failure;
    }
    this.#checkpointWhenLong();
  }

  /** Space that was held back becomes space of the store's own files, before whoever fills the disk has taken it. */
  #useReserve(reserve: Reserve): void {
    try {
      this.#database.addSparePages(reserve);
    } catch (error) {
      // Somebody was faster; then it goes as far as what was had. But for a sync that failed.
      if (isFailedSync(error)) this.#broken = broken(error);
    }
    reserve.release();
    this.#checkpoint();
  }

  #hold(): void {
    this.#reserve?.hold();
    this.#isFull = false;
  }

  #noticeFull(): void {
    this.#isFull = true;
    this.#reserve?.doubt();
  }

  #writeUrgently(batch: Batch): void {
    this.#isFull = true;
    if (this.#reserve?.isEmpty() === false) this.#useReserve(this.#reserve);
    try {
      this.#write(batch);
    } catch (error) {
      if (this.#broken !== undefined || writeFailure(error).code !== 'NoSpace') throw error;
      this.#checkpoint();
      this.#write(batch);
    }
  }

  /** Throws StorageError when a write would fail now. */
  probe(): void {
    if (this.#broken !== undefined) throw this.#broken;
    try {
      this.#hold();
      this.#bringIn();
      this.#database.touch();
      this.#journal?.acknowledge(this.revision());
    } catch (error) {
      if (isFailedSync(error)) this.#broken = broken(error);
      throw this.#broken ?? writeFailure(error);
    }
  }

  #write(batch: Batch): void {
    const journal = this.#journal;
    if (journal === undefined) throw new StorageError('Closed', 'the store is not started');
    const prior = this.revision();
    let journaled = false;
    const append = (): void => {
      journaled = true;
      journal.append(prior, batch);
    };
    try {
      const mayWait = this.#mayWait(batch);
      if (mayWait) append();
      else this.#database.write([...this.#waiting.all(), batch], append);
      this.#waiting.take(batch);
      if (!mayWait) this.#broughtIn();
    } catch (error) {
      if (journaled) this.#takeBack(journal, error);
      throw this.#broken ?? error;
    }
  }

  /** On a disk that is full each write shows at once whether the database can take it. */
  #mayWait(batch: Batch): boolean {
    if (this.#isFull || this.#isBehind || !this.#waiting.canTake(batch)) return false;
    return !this.#waiting.isEmpty() || hasHeadroom(this.#directory);
  }

  /** The database gets what waits: all of it, or it throws and all of it waits on. */
  #bringIn(): void {
    if (this.#waiting.isEmpty()) return;
    try {
      this.#database.write(this.#waiting.all());
    } catch (error) {
      if (isFailedSync(error)) this.#broken = broken(error);
      throw this.#broken ?? error;
    }
    this.#broughtIn();
  }

  #broughtIn(): void {
    this.#waiting.clear();
    this.#isBehind = false;
  }

  /** To be called some time after a write. What fails here is tried again: the journal holds it. */
  settle(): void {
    if (this.#broken !== undefined || this.#waiting.isEmpty()) return;
    try {
      this.#bringIn();
      this.#checkpointWhenLong();
    } catch (error) {
      this.#isBehind = true;
      if (writeFailure(error).code === 'NoSpace') this.#noticeFull();
    }
  }

  /** A batch that failed must not come back from the journal. */
  #takeBack(journal: Journal, cause: unknown): void {
    try {
      if (isFailedSync(cause)) throw cause;
      journal.undo();
    } catch (error) {
      this.#broken = broken(error);
    }
  }

  /** On a full disk always: journal and log begin anew in the space that they have. */
  #checkpointWhenLong(): void {
    if (
      this.#isFull ||
      (this.#journal?.size() ?? 0) >= this.#checkpointBytes ||
      (this.#waiting.isEmpty() && this.#database.logBytes() >= this.#checkpointBytes / 2)
    )
      this.#checkpoint();
  }

  /** What fails here is tried again by the next write: the journal still holds everything. */
  #checkpoint(): void {
    try {
      this.#bringIn();
      this.#database.checkpoint({ keepLogSpace: this.#isFull });
      this.#journal?.restart(this.#database.meta().revision, this.#token());
      this.#acknowledged = this.revision();
    } catch (error) {
      if (isFailedSync(error)) this.#broken = broken(error);
    }
  }

  /** To be called when nothing was written for a while; true while there is more to do. */
  rest(): boolean {
    this.settle();
    if (this.#broken !== undefined || this.#journal === undefined) return false;
    try {
      if (this.#acknowledged !== this.revision()) {
        this.#journal.acknowledge(this.revision());
        this.#acknowledged = this.revision();
      }
      if (this.#isFull) return false;
      if (this.#database.shrinkSome()) return true;
      // What was shrunk, which only this cuts off, or the log of a storm that has passed.
      if (Math.max(this.#database.logBytes(), this.#database.cutBytes()) >= restingBytes) this.#checkpoint();
    } catch (error) {
      if (isFailedSync(error)) this.#broken = broken(error);
    }
    return false;
  }

  compactSome(upTo: number): boolean {
    if (this.#broken !== undefined) throw this.#broken;
    try {
      this.#bringIn();
      const more = this.#database.compactSome(upTo);
      this.#checkpointWhenLong();
      return more;
    } catch (error) {
      throw writeFailure(error);
    }
  }

  /** Writes the whole file anew, without what is forgotten, and empties both logs. Writes wait for it. */
  scrub(upTo: number): void {
    for (let more = true; more; ) more = this.compactSome(upTo);
    try {
      this.#database.rewrite();
    } catch (error) {
      throw writeFailure(error);
    }
    this.#checkpoint();
    if (this.#broken !== undefined) throw this.#broken;
    if (this.#journal?.isEmpty() === true) this.#journal.shrink();
  }

  /** `openMs`: how long it was open; leases go on from there. */
  close(openMs?: number): void {
    if (this.#broken === undefined && this.#journal !== undefined) {
      if (openMs !== undefined) this.#keepLeaseClock(openMs);
      this.#checkpoint();
      if (this.#journal.isEmpty()) this.#journal.shrink();
    }
    this.#reserve?.close();
    this.#journal?.close();
    this.#database.close();
  }

  #keepLeaseClock(openMs: number): void {
    try {
      // What waits was written before.
      this.#bringIn();
      this.#database.keepLeaseClock(openMs);
    } catch (error) {
      // They end later then. But for a sync that failed.
      if (isFailedSync(error)) this.#broken = broken(error);
    }
  }

  #token(): string {
    return this.#random.uuid().replaceAll('-', '').slice(-16);
  }
}

function makeDirectory(directory: string): void {
  try {
    makeFolderDurably(directory);
  } catch (error) {
    throw openFailure(directory, error);
  }
}

/** Last: the files that it vouches for are in their folder for good. */
function writeMarker(directory: string): void {
  syncFolder(directory);
  const file = openSync(join(directory, storeFiles.marker), 'w', 0o600);
  try {
    writeSync(file, `${formatVersion}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncFolder(directory);
}
