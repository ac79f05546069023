// What the main thread and the writer thread say to each other. Values of a batch travel as one transferred buffer.
import type { Batch } from './batch.ts';

export interface WriterOptions {
  readonly directory: string;
}

/** `urgent`: only what makes room or can't wait for it, which may use the space that is held back for that. */
export type BatchMessage = Batch & { readonly type: 'batch'; readonly id: number; readonly urgent: boolean };
export type ToWriter =
  | BatchMessage
  | { readonly type: 'compact'; readonly id: number; readonly upTo: number }
  /** Nothing of before is in the files any more but what is there. */
  | { readonly type: 'scrub'; readonly id: number; readonly upTo: number }
  /** Would a write succeed now? */
  | { readonly type: 'probe'; readonly id: number }
  | { readonly type: 'close'; readonly id: number; readonly openMs: number };

export interface LoadedRow {
  readonly key: string;
  readonly revision: number;
  readonly value: Uint8Array;
  /** What is left of its lease. Absent: it stays. */
  readonly remainingMs?: number | undefined;
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
