// A connection that breaks off when its peer sends more than anybody wants of it.
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';

/**
 * Counts bytes where they come from the network. What reads them behind it (TLS, HTTP, gRPC) passes over much of what a peer
 * may send without end, without a word: session tickets, pings, empty lines, zeros before a length.
 */
class BoundedSocket extends Duplex {
  readonly #raw: Socket;

  constructor(raw: Socket, maxBytes: number, tooMuch: string) {
    super({ allowHalfOpen: false });
    this.#raw = raw;
    let left = maxBytes;
    raw.on('data', (data: Buffer) => {
      left -= data.length;
      if (left < 0) this.destroy(new Error(tooMuch));
      else if (!this.push(data)) raw.pause();
    });
    raw.on('end', () => this.push(null));
    raw.on('error', (error) => this.destroy(error));
  }
  override _read(): void {
    this.#raw.resume();
  }
  override _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#raw.write(chunk, encoding, done);
  }
  override _final(done: () => void): void {
    this.#raw.end(done);
  }
  /** What node:http asks of a socket when it has its answer: a peer that does not end its side must not keep ours. */
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#raw.destroy();
    done(error);
  }
}

/** `raw` is the result's alone from now on. */
export const boundedSocket = (raw: Socket, maxBytes: number, tooMuch: string): Duplex =>
  new BoundedSocket(raw, maxBytes, tooMuch);
