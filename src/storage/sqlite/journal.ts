// The journal: every batch, synced before it is acknowledged; a second copy of what the database file does not hold yet.
import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import type { Batch } from './batch.ts';
import type { JournalRecord, Slot } from './journal-format.ts';
import {
  blockSize,
  decodeRecord,
  decodeSlot,
  encodeRecord,
  encodeSlot,
  recordsStart,
  slotCount,
} from './journal-format.ts';

/** What a journal tells of the batches since the last checkpoint. */
export interface JournalContents {
  readonly slot: Slot;
  /** Without a gap, from the beginning of the generation. */
  readonly records: readonly JournalRecord[];
  /** The last revision that was acknowledged for certain: it was told, or something was written after it. */
  readonly acknowledged: number;
}

/** The file grows by this much at a time: a sync that need not write the file's new length is cheaper. */
const growth = 1 << 20;

/** undefined: there is no such file. `slot` undefined: what there is cannot be read. */
export function readJournal(path: string): JournalContents | { readonly slot: undefined } | undefined {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  const slots = Array.from({ length: slotCount }, (_, i) => decodeSlot(bytes, i * blockSize))
    .filter((slot) => slot !== undefined)
    .sort((a, b) => b.generation - a.generation || b.acknowledged - a.acknowledged);
  const slot = slots[0];
  if (slot === undefined) return { slot };
  const records: JournalRecord[] = [];
  let acknowledged = Math.max(slot.base, slot.acknowledged);
  let at = recordsStart;
  while (at < bytes.length) {
    const found = decodeRecord(bytes, at, slot.salt);
    if (found === undefined) {
      // A record further on says that this one was whole: a batch is begun when the one before is synced.
      at += blockSize;
      continue;
    }
    if (found.record.sequence === records.length) records.push(found.record);
    acknowledged = Math.max(acknowledged, found.record.prior);
    at = found.end;
  }
  return { slot, records, acknowledged };
}

export class Journal {
  readonly #file: number;
  #slot: Slot;
  #nextSlot = 0;
  #sequence = 0;
  #end = recordsStart;
  #allocated: number;
  /** Where the last record began: undone when the batch fails after all. */
  #last: number | undefined;

  /** Begins a generation: the database file must hold everything up to `base`. */
  constructor(path: string, start: Slot) {
    this.#file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.#allocated = fstatSync(this.#file).size;
    this.#slot = start;
    this.#writeSlots();
  }

  size(): number {
    return this.#end;
  }

  isEmpty(): boolean {
    return this.#end === recordsStart;
  }

  /** Returns when the batch is on disk. */
  append(prior: number, batch: Batch): void {
    const record = encodeRecord(this.#slot.salt, this.#sequence, prior, batch);
    this.#last = undefined;
    this.#grow(this.#end + record.length);
    this.#last = this.#end;
    writeAll(this.#file, record, this.#end);
    fdatasyncSync(this.#file);
    this.#end += record.length;
    this.#sequence++;
  }

  /** The batch that was appended last has failed in the database: it must not come back. */
  undo(): void {
    if (this.#last === undefined) return;
    writeAll(this.#file, Buffer.alloc(blockSize), this.#last);
    fdatasyncSync(this.#file);
    if (this.#end > this.#last) this.#sequence--;
    this.#end = this.#last;
    this.#last = undefined;
  }

  /** Says that the last batch was acknowledged, which the next one would say otherwise. */
  acknowledge(revision: number): void {
    this.#slot = { ...this.#slot, acknowledged: revision };
    this.#writeSlot();
    fdatasyncSync(this.#file);
  }

  restart(base: number, salt: string): void {
    this.#slot = { ...this.#slot, generation: this.#slot.generation + 1, salt, base, acknowledged: base };
    this.#writeSlots();
    this.#sequence = 0;
    this.#end = recordsStart;
    this.#last = undefined;
  }

  /** Gives the space of the records back: the database file holds them. */
  shrink(): void {
    ftruncateSync(this.#file, recordsStart);
    this.#allocated = recordsStart;
  }

  close(): void {
    closeSync(this.#file);
  }

  /** One after the other: a torn one leaves the other whole. */
  #writeSlots(): void {
    for (let i = 0; i < slotCount; i++) {
      this.#writeSlot();
      fdatasyncSync(this.#file);
    }
  }

  #writeSlot(): void {
    writeAll(this.#file, encodeSlot(this.#slot), this.#nextSlot * blockSize);
    this.#nextSlot = (this.#nextSlot + 1) % slotCount;
  }

  #grow(size: number): void {
    if (size <= this.#allocated) return;
    const start = Math.max(this.#allocated, this.#end);
    const end = Math.ceil(size / growth) * growth;
    writeAll(this.#file, Buffer.alloc(end - start), start);
    this.#allocated = end;
  }
}

function writeAll(file: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; )
    done += writeSync(file, bytes, done, bytes.length - done, at + done);
}
