// A body that is made while the client reads it: some objects at a time, each time in a turn of its own.
import type { Turns } from '../../base/turns.ts';
import type { PullBody } from '../http.ts';
import type { ListWriter } from './list-writer.ts';

/** A client that takes nothing for so long is cut, as for every other answer. */
const stallMs = 60_000;
/** What is made at once: enough to be worth a turn, and little to hold for a client that reads slowly. */
const pieceBytes = 64 * 1024;
const sliceMs = 5;

export interface Conversion {
  readonly values: readonly Buffer[];
  /** A stored object as it is to be written. */
  item(value: Buffer): Buffer;
  readonly writer: Omit<ListWriter, 'item'>;
  readonly turns: Turns;
  monotonic(): number;
}

export class ConvertedBody implements PullBody {
  readonly stallMs: number = stallMs;
  readonly #conversion: Conversion;
  #values: readonly Buffer[];
  #next = 0;
  #ready: Buffer | undefined;
  #failure: { readonly error: unknown } | undefined;
  #ended = false;
  #closed = false;

  constructor(conversion: Conversion) {
    this.#conversion = conversion;
    this.#values = conversion.values;
  }

  /** Throws what a piece could not be made for: the reader is cut, and not told an end. */
  pull(): Buffer | undefined | null {
    if (this.#failure !== undefined && !this.#closed) throw this.#failure.error;
    const ready = this.#ready;
    this.#ready = undefined;
    if (ready !== undefined) return ready;
    return this.#ended || this.#closed ? null : undefined;
  }

  onReady(callback: () => void): void {
    this.#conversion.turns.call(() => {
      try {
        if (!this.#closed && this.#ready === undefined && !this.#ended) this.#make();
      } catch (error) {
        this.#failure = { error };
      }
      callback();
    });
  }

  close(): void {
    this.#closed = true;
    this.#values = [];
    this.#ready = undefined;
  }

  #make(): void {
    const { writer, item: itemOf, monotonic } = this.#conversion;
    const until = monotonic() + sliceMs;
    const parts: Buffer[] = this.#next === 0 ? [writer.head] : [];
    let size = 0;
    while (this.#next < this.#values.length && size < pieceBytes && (size === 0 || monotonic() < until)) {
      if (this.#next > 0) parts.push(writer.separator);
      const item = itemOf(this.#values[this.#next++]!);
      size += item.length;
      parts.push(item);
    }
    if (this.#next === this.#values.length) {
      parts.push(writer.tail);
      this.#ended = true;
      this.#values = [];
    }
    this.#ready = Buffer.concat(parts);
  }
}
