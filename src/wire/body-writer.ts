// Writes a response body to a socket or stream at the speed at which the client reads it.
import type { Writable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import type { PullBody } from './http-message.ts';
import { stallMs, unreadAnswers } from './unread-answers.ts';

/** Bytes handed to the socket in one write. */
export const chunkBytes: number = 256 * 1024;
/** A pull body is asked for this much at most, so that one watcher never holds more. */
const pullBytes = 64 * 1024;
/** As upstream: smaller answers are not worth the processor time. */
export const gzipFromBytes: number = 128 * 1024;

export const sizeOf = (body: readonly Buffer[]): number => {
  let size = 0;
  for (const part of body) size += part.length;
  return size;
};

/**
 * Joins many small buffers into few large ones, lazily: a list of 10,000 pods is never held twice. What is larger is not
 * copied and goes in pieces: all that was written to the streams of a connection is encrypted at once when its client takes it.
 */
function* coalesced(parts: readonly Buffer[]): Generator<Buffer> {
  let first = 0;
  let size = 0;
  const joined = (end: number): Buffer =>
    first === end - 1 ? parts[first]! : Buffer.concat(parts.slice(first, end), size);
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    if (size > 0 && size + part.length > chunkBytes) {
      yield joined(i);
      size = 0;
    }
    if (part.length > chunkBytes) {
      for (let at = 0; at < part.length; at += chunkBytes) yield part.subarray(at, at + chunkBytes);
      continue;
    }
    if (size === 0) first = i;
    size += part.length;
  }
  if (size > 0) yield joined(parts.length);
}

/** Goes on when the client has taken what waits; cuts one that does not. 0: it may wait forever. */
function whenDrained(out: Writable, limitMs: number, next: () => void): void {
  if (limitMs === 0) {
    out.once('drain', next);
    return;
  }
  const stop = (): void => {
    clearTimeout(timer);
    out.off('drain', drained);
    out.off('close', stop);
  };
  const drained = (): void => {
    stop();
    next();
  };
  const timer = setTimeout(() => {
    stop();
    out.destroy();
  }, limitMs);
  timer.unref();
  out.on('drain', drained);
  out.on('close', stop);
}

/** The last of an answer: it has as long to be taken as all before it. */
function end(out: Writable, last?: Buffer): void {
  out.end(last);
  if (out.destroyed) return;
  unreadAnswers.add(out);
  out.once('close', taken);
}

function taken(this: Writable): void {
  unreadAnswers.taken(this);
}

/** A small answer goes in one write; of a large one its client may take a piece at a time. */
export function writeBytes(out: Writable, bytes: Buffer): void {
  if (bytes.length > chunkBytes) writeParts(out, [bytes]);
  else end(out, bytes);
}

export function writeParts(out: Writable, parts: readonly Buffer[]): void {
  writeAll(out, parts, () => end(out));
}

function writeAll(out: Writable, parts: readonly Buffer[], written: () => void): void {
  const chunks = coalesced(parts);
  const next = (): void => {
    for (;;) {
      if (out.destroyed) return;
      const { value, done } = chunks.next();
      if (done) {
        written();
        return;
      }
      if (!out.write(value)) {
        whenDrained(out, stallMs, next);
        return;
      }
    }
  };
  next();
}

/** What was compressed, by what it was made of: documents are many megabytes, asked for by everybody, and seldom change. */
const compressed = new WeakMap<Buffer, readonly Buffer[]>();

/** `isKept`: the same buffer will be asked for again. */
export function writeGzip(out: Writable, parts: readonly Buffer[], isKept = false): void {
  const [source] = parts;
  const known = source && compressed.get(source);
  if (known) {
    writeParts(out, known);
    return;
  }
  const chunks: Buffer[] = [];
  const gzip = createGzip({ level: constants.Z_BEST_SPEED, chunkSize: chunkBytes });
  gzip.on('data', (chunk: Buffer) => {
    if (isKept) chunks.push(chunk);
    if (out.destroyed || out.write(chunk)) return;
    gzip.pause();
    whenDrained(out, stallMs, () => gzip.resume());
  });
  gzip.on('error', (error) => out.destroy(error));
  gzip.on('end', () => {
    if (isKept && source) compressed.set(source, chunks);
    end(out);
  });
  out.once('close', () => gzip.destroy());
  writeAll(gzip, parts, () => gzip.end());
}

/** Streams a pull body; `streams` registers it for as long as it goes on, so that the server's end can end it. */
export function writeRegistered(
  out: Writable,
  body: PullBody,
  streams: (end: () => void) => () => void,
): void {
  let isOver = false;
  let release = (): void => {
    isOver = true;
  };
  const end = writePull(out, body, () => release());
  // One that ended at once would be kept for ever.
  if (!isOver) release = streams(end);
}

/**
 * Streams a pull body, and closes it whatever happens: it ended, it failed, the client left, the server ends. `onEnd`
 * runs once after that. A body that throws cuts the connection: an end would pass for the whole.
 */
export function writePull(out: Writable, body: PullBody, onEnd: () => void): () => void {
  let over = false;
  const finish = (): void => {
    if (over) return;
    over = true;
    body.close();
    onEnd();
  };
  const cut = (error: unknown): void => {
    finish();
    out.destroy(error instanceof Error ? error : new Error(String(error)));
  };
  const next = (): Buffer | undefined | null => {
    const bytes = body.pull(pullBytes);
    if (bytes === undefined) body.onReady(pump);
    return bytes;
  };
  const pump = (): void => {
    try {
      for (;;) {
        if (over) return;
        if (out.destroyed) {
          finish();
          return;
        }
        const bytes = next();
        if (bytes === undefined) return;
        if (bytes === null) {
          finish();
          if (body.stallMs === undefined) out.end();
          else end(out);
          return;
        }
        if (!out.write(bytes)) {
          whenDrained(out, body.stallMs ?? 0, pump);
          return;
        }
      }
    } catch (error) {
      cut(error);
    }
  };
  out.once('close', finish);
  out.once('error', finish);
  pump();
  return () => {
    if (over) return;
    finish();
    out.end();
  };
}
