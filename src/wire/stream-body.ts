// A stream's bytes, taken as their reader takes them. One that breaks off is an error: an end would pass for the whole.
import type { Readable } from 'node:stream';
import type { PullBody } from './http-message.ts';

/** A stream of HTTP/2 that its peer resets ends as one that is whole does, and says so. */
type Source = Readable & { readonly aborted?: boolean };

export class StreamBody implements PullBody {
  readonly #stream: Source;
  readonly #leave: () => void;
  #over = false;
  #failure: Error | undefined;
  #wake: (() => void) | undefined;

  /** `leave`: nobody reads the rest. */
  constructor(stream: Source, leave: () => void = () => stream.destroy()) {
    this.#stream = stream;
    this.#leave = leave;
    stream.on('error', (error) => {
      this.#failure = error;
      this.#end();
    });
    stream.on('end', () => this.#closed());
    stream.on('close', () => this.#closed());
    stream.on('readable', this.#fire);
    if (stream.destroyed) this.#closed();
  }

  #closed(): void {
    if (!this.#stream.readableEnded || this.#stream.aborted === true)
      this.#failure ??= new Error('unexpected EOF');
    this.#end();
  }

  #end(): void {
    this.#over = true;
    this.#fire();
  }

  readonly #fire = (): void => {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  };

  pull(): Buffer | undefined | null {
    // All that has come at once: a sender of single bytes makes no more work than others.
    const chunk = this.#stream.read() as Buffer | null;
    if (chunk !== null) return chunk;
    if (this.#failure) throw this.#failure;
    return this.#over ? null : undefined;
  }

  onReady(callback: () => void): void {
    this.#wake = callback;
    if (this.#over) queueMicrotask(() => this.#fire());
  }

  close(): void {
    this.#wake = undefined;
    this.#over = true;
    this.#stream.off('readable', this.#fire);
    this.#leave();
  }
}
