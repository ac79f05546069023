// One batch of writes as it travels from the main thread to the journal and to the database.

/** Row `i`: `values` holds the bytes one after another, `lengths[i]` of each. */
export interface Batch {
  readonly keys: readonly string[];
  /** 1 put, 0 delete. */
  readonly puts: Uint8Array;
  readonly revisions: Float64Array;
  /** Revision of the state before, 0 when there was none. */
  readonly previous: Float64Array;
  readonly lengths: Uint32Array;
  readonly values: Uint8Array;
  /** Absent when no row has a lease. */
  readonly leases?:
    | {
        /** What is left of the lease of row `i`; 0: it has none. */
        readonly remainingMs: Float64Array;
        /** How long the store has been open; absent where that is not known any more. */
        readonly openMs?: number;
      }
    | undefined;
}

export const lastRevision = (batch: Batch): number => batch.revisions[batch.keys.length - 1]!;
