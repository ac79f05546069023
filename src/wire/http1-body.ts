// The body of an HTTP/1 request on its way to whoever reads it: in hand when it came with its head, else a stream.
import { Readable } from 'node:stream';
import type { PullBody } from './http-message.ts';
import { readBody } from './read-body.ts';
import { StreamBody } from './stream-body.ts';

/** What is kept of a body that nobody reads yet. */
const keptBytes = 64 * 1024;
/** What a piece costs at least. */
const leastPieceBytes = 64;

export class Http1Body {
  readonly #pieces: Buffer[] = [];
  readonly #flow: Pick<Readable, 'pause' | 'resume'>;
  #cost = 0;
  #isComplete = false;
  #isUnwanted = false;
  #isPaused = false;
  #stream: Readable | undefined;

  /** `flow`: of what it comes from. */
  constructor(flow: Pick<Readable, 'pause' | 'resume'>) {
    this.#flow = flow;
  }

  push(bytes: Buffer): void {
    if (this.#isUnwanted) return;
    if (this.#stream) {
      if (!this.#stream.push(bytes)) this.#pause();
      return;
    }
    this.#pieces.push(bytes);
    this.#cost += Math.max(bytes.length, leastPieceBytes);
    if (this.#cost > keptBytes) this.#pause();
  }

  complete(): void {
    if (!this.#isUnwanted) {
      this.#isComplete = true;
      this.#stream?.push(null);
    }
    // Nobody will ask for more of it; what follows it on its connection waits behind it.
    this.#resume();
  }

  /** What still comes is thrown away. Who reads it all the same must not take what there is of it for the whole. */
  unwanted(): void {
    this.#isUnwanted = true;
    this.#isComplete = false;
    this.#pieces.length = 0;
    this.#stream?.destroy();
    this.#resume();
  }

  /** The client has left. */
  cut(): void {
    this.#isUnwanted = true;
    this.#stream?.destroy();
  }

  /** Once. `declared`: its Content-Length. */
  read(limit: number, declared: string | undefined): Promise<Buffer> {
    const pieces = this.#pieces;
    if (this.#isComplete && this.#cost <= Math.min(limit, keptBytes))
      return Promise.resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces));
    return readBody(this.#streamed(), limit, declared);
  }

  /** Once, instead of reading it. */
  stream(): PullBody {
    const stream = this.#streamed();
    return new StreamBody(stream, () => {
      stream.destroy();
      this.unwanted();
    });
  }

  #streamed(): Readable {
    const stream = new Readable({ read: () => this.#resume(), highWaterMark: keptBytes });
    this.#stream = stream;
    for (const piece of this.#pieces.splice(0)) stream.push(piece);
    if (this.#isComplete) stream.push(null);
    else if (this.#isUnwanted) stream.destroy();
    return stream;
  }

  #pause(): void {
    this.#isPaused = true;
    this.#flow.pause();
  }

  #resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#flow.resume();
  }
}
