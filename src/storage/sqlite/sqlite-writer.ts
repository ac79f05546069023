// The writer thread: the only code that touches the database file. Entry point of a worker.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { StorageError } from '../storage-error.ts';
import { DurableStore } from './durable-store.ts';
import type { FromWriter, HistoryRow, LoadedRow, ToWriter, WriterOptions } from './writer-protocol.ts';
import { openingId } from './writer-protocol.ts';

const chunkRows = 1_000;
/** Watchers that come back after a restart were seconds behind, not hours: more history would only fill memory. */
const maxReloaded = 10_000;
/** Without a write for this long, the last one is noted as acknowledged. */
const restMs = 200;

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
          : `the store failed: ${error instanceof Error ? error.message : String(error)}`,
    });
  let store: DurableStore;
  let compactTo = 0;
  try {
    store = new DurableStore(options.directory, systemRandom);
    const revision = store.revision();
    const floor = Math.max(store.floor(), revision - maxReloaded);
    sendRows(store.rows(), (rows: LoadedRow[], transfer) => send({ type: 'rows', rows }, transfer));
    sendRows(store.history(floor), (rows: HistoryRow[], transfer) =>
      send({ type: 'history', rows }, transfer),
    );
    store.start();
    send({ type: 'ready', revision, floor });
  } catch (error) {
    fail(openingId, error);
    port.close();
    return;
  }
  // Every object was read and is whole. The rest of the file is looked at before anything is written to it.
  const damage = store.structuralDamage();
  if (damage !== undefined) fail(openingId, damage);
  /** Between batches, a little at a time. */
  const compactLater = (): void => {
    setImmediate(() => {
      try {
        if (compactTo > 0 && store.compactSome(compactTo)) compactLater();
        else if (!closed && stopResting === undefined) restSoon();
      } catch {
        // History that could not be forgotten now is forgotten at the next compaction.
      }
    });
  };
  let stopResting: (() => void) | undefined;
  let writing = false;
  let closed = false;
  const restSoon = (): void => {
    writing = false;
    stopResting = systemClock.timer(restMs, () => {
      stopResting = undefined;
      if (writing) restSoon();
      else rest();
    });
  };
  /** A little at a time, until something is written. */
  const rest = (): void => {
    if (!writing && !closed && store.rest()) setImmediate(rest);
  };
  port.on('message', (message: ToWriter) => {
    try {
      if (message.type === 'batch') {
        store.write(message, message.urgent);
        release(message.values);
        writing = true;
        if (stopResting === undefined) restSoon();
      } else if (message.type === 'compact') {
        // The first piece at once, so that a floor that was promised holds after a restart.
        compactTo = Math.max(compactTo, message.upTo);
        if (store.compactSome(compactTo)) compactLater();
      } else if (message.type === 'probe') store.probe();
      else {
        closed = true;
        compactTo = 0;
        stopResting?.();
        store.close();
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
