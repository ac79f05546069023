// The writer thread: the only code that touches the database file. Entry point of a worker.
import { parentPort, workerData } from 'node:worker_threads';
import { StorageError } from '../storage-error.ts';
import { Database } from './database.ts';
import type { FromWriter, HistoryRow, LoadedRow, ToWriter, WriterOptions } from './writer-protocol.ts';
import { openingId } from './writer-protocol.ts';

const chunkRows = 1_000;
/** Watchers that come back after a restart were seconds behind, not hours: more history would only fill memory. */
const maxReloaded = 10_000;

function serve(port: NonNullable<typeof parentPort>, options: WriterOptions): void {
  const send = (message: FromWriter, transfer: ArrayBuffer[] = []): void =>
    port.postMessage(message, transfer);
  const fail = (id: number, error: unknown): void =>
    send({
      type: 'failed',
      id,
      code: error instanceof StorageError ? error.code : 'WriteFailed',
      message:
        error instanceof StorageError
          ? error.message
          : `the store cannot write: ${error instanceof Error ? error.message : String(error)}`,
    });
  let database: Database;
  let compactTo = 0;
  try {
    database = new Database(options.directory);
    const { revision, floor: kept } = database.meta();
    const floor = Math.max(kept, revision - maxReloaded);
    sendRows(database.rows(), (rows: LoadedRow[], transfer) => send({ type: 'rows', rows }, transfer));
    sendRows(database.history(floor), (rows: HistoryRow[], transfer) =>
      send({ type: 'history', rows }, transfer),
    );
    send({ type: 'ready', revision, floor });
  } catch (error) {
    fail(openingId, error);
    port.close();
    return;
  }
  /** Between batches, a little at a time. */
  const compactLater = (): void => {
    setImmediate(() => {
      try {
        if (compactTo > 0 && database.compactSome(compactTo)) compactLater();
      } catch {
        // History that could not be forgotten now is forgotten at the next compaction.
      }
    });
  };
  port.on('message', (message: ToWriter) => {
    try {
      if (message.type === 'batch') {
        database.write(message);
        release(message.values);
      } else if (message.type === 'compact') {
        // The first piece at once, so that a floor that was promised holds after a restart.
        compactTo = Math.max(compactTo, message.upTo);
        if (database.compactSome(compactTo)) compactLater();
      } else {
        compactTo = 0;
        database.close();
      }
      send({ type: 'done', id: message.id });
      if (message.type === 'close') port.close();
    } catch (error) {
      fail(message.id, error);
    }
  });
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
