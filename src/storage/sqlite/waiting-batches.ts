// Batches that the journal holds and the database file does not yet: one transaction brings in many of them.
import type { Batch } from './batch.ts';
import { lastRevision } from './batch.ts';

/** What waits when the disk fills up is brought in by what is held back: far less than that becomes (`Database.addSparePages`). */
const maxBytes = 512 << 10;
/** Of a row beside its value, in all tables. */
const rowBytes = 256;

const sizeOf = ({ keys, values }: Batch): number => values.length + keys.length * rowBytes;

export class WaitingBatches {
  readonly #release: (batch: Batch) => void;
  #batches: Batch[] = [];
  #bytes = 0;

  /** `release` is told of each when the database has it. */
  constructor(release: (batch: Batch) => void) {
    this.#release = release;
  }

  all(): readonly Batch[] {
    return this.#batches;
  }

  isEmpty(): boolean {
    return this.#batches.length === 0;
  }

  /** undefined: none wait. */
  revision(): number | undefined {
    const last = this.#batches.at(-1);
    return last && lastRevision(last);
  }

  /** Not where it has leases: how long the store was open stands in the database alone. */
  canTake(batch: Batch): boolean {
    return batch.leases === undefined && this.#bytes + sizeOf(batch) <= maxBytes;
  }

  take(batch: Batch): void {
    this.#batches.push(batch);
    this.#bytes += sizeOf(batch);
  }

  /** The database has them. */
  clear(): void {
    const gone = this.#batches;
    this.#batches = [];
    this.#bytes = 0;
    for (const batch of gone) this.#release(batch);
  }
}
