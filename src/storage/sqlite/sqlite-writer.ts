// The writer thread: the only code that touches the database file. Entry point of a worker.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { StorageError } from '../storage-error.ts';
import { DurableStore } from './durable-store.ts';
import type {
  BatchMessage,
  FromWriter,
  HistoryRow,
  LoadedRow,
  ToWriter,
  WriterOptions,
} from './writer-protocol.ts';
import { openingId } from './writer-protocol.ts';

const chunkRows = 1_000;
/** Watchers that come back after a restart were seconds behind, not hours: more history would only fill memory. */
const maxReloaded = 10_000;
/** After a write for so long the database file has it. Without another for as long, it is noted as acknowledged. */
const restMs = 200;

type Port = NonNullable<typeof parentPort>;

function fail(port: Port, id: number, error: unknown): void {
  const { code, message } =
    error instanceof StorageError
      ? error
      : {
          code: 'WriteFailed',
          message: `the store failed: ${error instanceof Error ? error.message : String(error)}`,
        };
  port.postMessage({ type: 'failed', id, code, message } satisfies FromWriter);
}

/** Tells all that the store holds. */
function load(port: Port, directory: string): DurableStore {
  const store = new DurableStore(directory, systemRandom, { release: ({ values }) => release(values) });
  const send = (message: FromWriter, transfer: ArrayBuffer[] = []): void =>
    port.postMessage(message, transfer);
  const revision = store.revision();
  const floor = Math.max(store.floor(), revision - maxReloaded);
  sendRows(store.rows(), (rows: LoadedRow[], transfer) => send({ type: 'rows', rows }, transfer));
  sendRows(store.history(floor), (rows: HistoryRow[], transfer) => send({ type: 'history', rows }, transfer));
  store.start();
  send({ type: 'ready', revision, floor });
  return store;
}

function serve(port: Port, { directory }: WriterOptions): void {
  let store: DurableStore;
  try {
    store = load(port, directory);
  } catch (error) {
    fail(port, openingId, error);
    port.close();
    return;
  }
  // Every object was read and is whole. The rest of the file is looked at before anything is written to it.
  const damage = store.structuralDamage();
  if (damage !== undefined) fail(port, openingId, damage);
  const writer = new Writer(store);
  port.on('message', (message: ToWriter) => {
    try {
      writer.do(message);
      port.postMessage({ type: 'done', id: message.id } satisfies FromWriter);
      if (message.type === 'close') port.close();
    } catch (error) {
      fail(port, message.id, error);
    }
  });
}

/** Does what it is told, and what can wait a little at a time between. */
class Writer {
  readonly #store: DurableStore;
  #compactTo = 0;
  #stopResting: (() => void) | undefined;
  #writing = false;
  #closed = false;

  constructor(store: DurableStore) {
    this.#store = store;
  }

  do(message: ToWriter): void {
    if (message.type === 'batch') this.#write(message);
    else if (message.type === 'compact') {
      // The first piece at once, so that a floor that was promised holds after a restart.
      this.#compactTo = Math.max(this.#compactTo, message.upTo);
      if (this.#store.compactSome(this.#compactTo)) this.#compactLater();
    } else if (message.type === 'scrub') this.#store.scrub(message.upTo);
    else if (message.type === 'probe') this.#store.probe();
    else this.#close(message.openMs);
  }

  #write(batch: BatchMessage): void {
    this.#store.write(batch, batch.urgent);
    this.#writing = true;
    if (this.#stopResting === undefined) this.#restSoon();
  }

  #close(openMs: number): void {
    this.#closed = true;
    this.#compactTo = 0;
    this.#stopResting?.();
    this.#store.close(openMs);
  }

  #compactLater(): void {
    setImmediate(() => {
      try {
        if (this.#compactTo > 0 && this.#store.compactSome(this.#compactTo)) this.#compactLater();
        else if (!this.#closed && this.#stopResting === undefined) this.#restSoon();
      } catch {
        // History that could not be forgotten now is forgotten at the next compaction.
      }
    });
  }

  #restSoon(): void {
    this.#writing = false;
    this.#stopResting = systemClock.timer(restMs, () => {
      this.#stopResting = undefined;
      if (!this.#writing) this.#rest();
      else {
        this.#store.settle();
        this.#restSoon();
      }
    });
  }

  /** Until something is written. */
  #rest(): void {
    if (!this.#writing && !this.#closed && this.#store.rest()) setImmediate(() => this.#rest());
  }
}

/** At once: this thread allocates so little that its collector would let megabytes of written batches lie. */
function release(bytes: Uint8Array): void {
  (bytes.buffer as ArrayBuffer).transfer(0);
}

function sendRows<R extends LoadedRow | HistoryRow>(
  rows: Iterable<R>,
  send: (rows: R[], transfer: ArrayBuffer[]) => void,
): void {
  let chunk: R[] = [];
  let transfer: ArrayBuffer[] = [];
  const flush = (): void => {
    send(chunk, transfer);
    chunk = [];
    transfer = [];
  };
  for (const row of rows) {
    chunk.push(row);
    if (row.value !== undefined) transfer.push(row.value.buffer as ArrayBuffer);
    if ('previousValue' in row && row.previousValue !== undefined)
      transfer.push(row.previousValue.buffer as ArrayBuffer);
    if (chunk.length === chunkRows) flush();
  }
  if (chunk.length > 0) flush();
}

if (parentPort !== null) serve(parentPort, workerData as WriterOptions);
