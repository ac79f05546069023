// The main thread's end of the writer: starts it, loads what it read, and turns its answers into promises.
import { Worker } from 'node:worker_threads';
import type { StorageErrorCode } from '../storage-error.ts';
import { StorageError } from '../storage-error.ts';
import { broken, writeFailure } from './store-failures.ts';
import type { FromWriter, HistoryRow, LoadedRow, ToWriter, WriterOptions } from './writer-protocol.ts';
import { openingId } from './writer-protocol.ts';

export interface Loaded {
  readonly rows: readonly LoadedRow[];
  readonly history: readonly HistoryRow[];
  readonly revision: number;
  readonly floor: number;
}

interface Pending {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

type Unnumbered<T> = T extends { readonly id: number } ? Omit<T, 'id'> : never;

export class WriterThread {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #nextId = openingId + 1;
  #dead: StorageError | undefined;
  #loaded = false;
  #closing = false;
  #onEnd: ((error: StorageError) => void) | undefined;

  constructor(workerUrl: URL, options: WriterOptions) {
    this.#worker = new Worker(workerUrl, { workerData: options, name: 'sqlite-writer' });
  }

  /** Called once, when nothing can be written any more: at once, and not when the next write fails. */
  onEnd(listener: (error: StorageError) => void): void {
    if (this.#dead === undefined) this.#onEnd = listener;
    else listener(this.#dead);
  }

  /** Resolves with everything that the file holds. */
  load(): Promise<Loaded> {
    return new Promise((resolve, reject) => {
      const rows: LoadedRow[] = [];
      const history: HistoryRow[] = [];
      this.#pending.set(openingId, { resolve: () => {}, reject });
      this.#worker.on('message', (message: FromWriter) => {
        if (message.type === 'rows') for (const row of message.rows) rows.push(row);
        else if (message.type === 'history') for (const row of message.rows) history.push(row);
        else if (message.type === 'ready') {
          this.#pending.delete(openingId);
          this.#loaded = true;
          resolve({ rows, history, revision: message.revision, floor: message.floor });
        } else this.#answer(message);
      });
      this.#worker.on('error', (error) => this.#end(error));
      this.#worker.on('exit', () => this.#end(new Error('the writer thread has ended')));
    });
  }

  request(message: Unnumbered<ToWriter>, transfer: ArrayBuffer[] = []): Promise<void> {
    if (this.#dead !== undefined) return Promise.reject(this.#dead);
    if (message.type === 'close') this.#closing = true;
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ ...message, id }, transfer);
    });
  }

  /** Resolves when the thread is gone. */
  async stopped(): Promise<void> {
    this.#closing = true;
    await this.#worker.terminate();
  }

  #answer(message: Extract<FromWriter, { type: 'done' | 'failed' }>): void {
    const pending = this.#pending.get(message.id);
    this.#pending.delete(message.id);
    if (message.type === 'done') pending?.resolve();
    else {
      const error = new StorageError(message.code as StorageErrorCode, message.message);
      // Found after the opening had succeeded.
      if (message.id === openingId && pending === undefined) this.#die(error);
      pending?.reject(error);
    }
  }

  /** A thread does not come back: what it had written, only a new start tells. */
  #end(cause: unknown): void {
    const error = this.#loaded ? broken(cause) : writeFailure(cause);
    for (const pending of this.#pending.values()) pending.reject(this.#dead ?? error);
    this.#pending.clear();
    if (!this.#closing) this.#die(error);
  }

  #die(error: StorageError): void {
    if (this.#dead !== undefined) return;
    this.#dead = error;
    this.#onEnd?.(error);
  }
}
