// Reads a whole request body with a bound on its size and on the time it may take.
import type { Readable } from 'node:stream';
import { BodyTooLargeError } from './http-message.ts';

/** Longest time a client may take to send its body, as upstream's request timeout. */
const bodyTimeoutMs = 60_000;
/** What a piece costs at least: a body in chunks of one byte takes as much work as one sixty times as long. */
const leastPieceBytes = 64;
/** So much dearer than its bytes may a body be: the end of a packet, or of a record of TLS, is a short piece of a long one. */
const sparedCost = 4096 * leastPieceBytes;
/** Shorter pieces are put together: each kept by itself would hold some hundred bytes, and what it was read into. */
const wholePieceBytes = 4 << 10;
const blockBytes = 16 << 10;

/** The pieces of a body, kept at about the size of their bytes. */
class Pieces {
  readonly #kept: Buffer[] = [];
  #block = Buffer.alloc(0);
  #used = 0;
  #size = 0;

  add(piece: Buffer): void {
    this.#size += piece.length;
    if (piece.length >= wholePieceBytes) {
      this.#keepBlock();
      this.#kept.push(piece);
      return;
    }
    if (this.#used + piece.length > this.#block.length) {
      this.#keepBlock();
      this.#block = Buffer.allocUnsafeSlow(blockBytes);
    }
    piece.copy(this.#block, this.#used);
    this.#used += piece.length;
  }

  whole(): Buffer {
    this.#keepBlock();
    return this.#kept.length === 1 ? this.#kept[0]! : Buffer.concat(this.#kept, this.#size);
  }

  #keepBlock(): void {
    if (this.#used > 0) this.#kept.push(this.#block.subarray(0, this.#used));
    this.#block = this.#block.subarray(this.#used);
    this.#used = 0;
  }
}

const brokenOffText = 'the client closed the connection before the body ended';

export function readBody(
  stream: Readable & { readonly aborted?: boolean },
  limit: number,
  declared: string | undefined,
): Promise<Buffer> {
  if (declared !== undefined && Number(declared) > limit) {
    stream.resume();
    return Promise.reject(new BodyTooLargeError(limit));
  }
  // It has told that it is closed, and says nothing any more.
  if (stream.destroyed) return Promise.reject(new Error(brokenOffText));
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    let size = 0;
    let cost = 0;
    const timer = setTimeout(() => finish(new Error('timed out reading the request body')), bodyTimeoutMs);
    const finish = (error?: Error): void => {
      clearTimeout(timer);
      stream.off('data', onData);
      if (error) {
        // What follows is not looked at: whoever answers lets the connection go.
        stream.pause();
        reject(error);
      } else resolve(pieces.whole());
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      cost += Math.max(chunk.length, leastPieceBytes);
      if (size > limit || cost > limit + sparedCost) finish(new BodyTooLargeError(limit));
      else pieces.add(chunk);
    };
    stream.on('data', onData);
    const brokenOff = (): void => finish(new Error(brokenOffText));
    // A stream of HTTP/2 that its client resets ends as one that is whole does, and says so.
    stream.once('end', () => (stream.aborted === true ? brokenOff() : finish()));
    stream.once('error', (error) => finish(error));
    stream.once('close', () => {
      if (!stream.readableEnded) brokenOff();
    });
  });
}
