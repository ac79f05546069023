// What the main thread and the writer thread say to each other. Values of a batch travel as one transferred buffer.

export interface WriterOptions {
  readonly directory: string;
}

/** Row `i` of a batch: `values` holds the bytes one after another, `lengths[i]` of each. */
export interface BatchMessage {
  readonly type: 'batch';
  readonly id: number;
  readonly keys: readonly string[];
  /** 1 put, 0 delete. */
  readonly puts: Uint8Array;
  readonly revisions: Float64Array;
  /** Revision of the state before, 0 when there was none. */
  readonly previous: Float64Array;
  readonly lengths: Uint32Array;
  readonly values: Uint8Array;
}
export type ToWriter =
  | BatchMessage
  | { readonly type: 'compact'; readonly id: number; readonly upTo: number }
  | { readonly type: 'close'; readonly id: number };

export interface LoadedRow {
  readonly key: string;
  readonly revision: number;
  readonly value: Uint8Array;
}
export interface HistoryRow {
  readonly key: string;
  readonly revision: number;
  /** Absent when it is the present state: the row of the key has it. */
  readonly value: Uint8Array | undefined;
  readonly put: boolean;
  readonly previous: number;
  /** The state before, when it is older than the history that is loaded. */
  readonly previousValue: Uint8Array | undefined;
}
export type FromWriter =
  | { readonly type: 'rows'; readonly rows: readonly LoadedRow[] }
  | { readonly type: 'history'; readonly rows: readonly HistoryRow[] }
  | { readonly type: 'ready'; readonly revision: number; readonly floor: number }
  | { readonly type: 'done'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string };
/** `id` of a failure to open. */
export const openingId = 0;
