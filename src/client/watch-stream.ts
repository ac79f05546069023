// Watch events from a byte stream: one JSON document a line, cut anywhere by the network.
import type { WatchEvent } from './client.ts';
import { parseLarge } from './parse-large.ts';

/** An event of one object with all its strings; longer is no event of a server that limits objects to 3 MiB. */
const maxLineBytes = 32 << 20;

export class WatchStreamError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'WatchStreamError';
  }
}

const newline = 0x0a;
const eventTypes = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']);

/** At once when it is small, as nearly every event is: a promise for each would cost each informer several rounds of jobs. */
function parsed(line: Buffer): unknown {
  try {
    const value = parseLarge(line.toString('utf8'));
    return value instanceof Promise ? value.catch(undecodable) : value;
  } catch (cause) {
    return undecodable(cause);
  }
}

function undecodable(cause: unknown): never {
  throw new WatchStreamError('unable to decode an event from the watch stream', { cause });
}

function eventOf<T>(value: unknown): WatchEvent<T> {
  const event = value as Partial<WatchEvent<T>> | null;
  if (typeof event?.type !== 'string' || !eventTypes.has(event.type) || typeof event.object !== 'object')
    throw new WatchStreamError('unable to decode an event from the watch stream: not an event');
  return event as WatchEvent<T>;
}

/** A last line without its newline is a cut event: it is dropped, the watch is resumed from the one before. */
export async function* watchEvents<T>(chunks: AsyncIterable<Buffer>): AsyncGenerator<WatchEvent<T>, void> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      let line = chunk.subarray(start, end);
      start = end + 1;
      if (pendingBytes > 0) {
        line = Buffer.concat([...pending, line]);
        pending = [];
        pendingBytes = 0;
      }
      if (line.length === 0 || (line.length === 1 && line[0] === 0x0d)) continue;
      const value = parsed(line);
      yield eventOf<T>(value instanceof Promise ? await value : value);
    }
    if (start < chunk.length) {
      const rest = chunk.subarray(start);
      pending.push(rest);
      pendingBytes += rest.length;
      if (pendingBytes > maxLineBytes)
        throw new WatchStreamError(`an event in the watch stream is larger than ${maxLineBytes} bytes`);
    }
  }
}
