// Reads the protobuf wire format; every length is checked against what is there.
import type { Json } from '../../json.ts';
import { definitionBounds, tooManyValues } from '../../object-bounds.ts';
import { DecodeError } from '../../schema-errors.ts';
import { int64Json } from '../json-numbers.ts';

const text = new TextDecoder('utf-8', { fatal: false });

/** What one message and all messages in it may still hold. A label takes three fields: itself, its key, its value; ownership takes none. */
interface Budget {
  fields: number;
}
const fieldsPerValue = 2;

export class ProtoReader {
  #at: number;
  readonly #bytes: Uint8Array;
  readonly #end: number;
  readonly #budget: Budget;

  constructor(
    bytes: Uint8Array,
    start: number = 0,
    end: number = bytes.length,
    budget: Budget = { fields: fieldsPerValue * definitionBounds.textValues },
  ) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    this.#budget = budget;
  }

  get done(): boolean {
    return this.#at >= this.#end;
  }

  /** A varint as a whole number that a double holds: lengths, tags, seconds. */
  varint(): number {
    const value = this.int64();
    if (typeof value !== 'number') throw new DecodeError('proto: integer overflow');
    return value;
  }

  /** A varint as a JSON number of all its digits. */
  int64(): Json {
    let value = 0;
    let scale = 1;
    const start = this.#at;
    for (let i = 0; i < 10; i++) {
      if (this.#at >= this.#end) throw unexpectedEnd();
      const byte = this.#bytes[this.#at++]!;
      if (i < 7) {
        value += (byte & 127) * scale;
        scale *= 128;
      }
      if (byte < 128) return i < 7 ? value : this.#wide(start);
    }
    throw new DecodeError('proto: integer overflow');
  }

  /** The rare long form: negative numbers take ten bytes. */
  #wide(start: number): Json {
    let value = 0n;
    for (let at = start, shift = 0n; at < this.#at; at++, shift += 7n)
      value |= BigInt(this.#bytes[at]! & 127) << shift;
    return int64Json(BigInt.asIntN(64, value));
  }

  /** Throws StatusError 413 when there are more fields than an object may have. */
  tag(): { readonly number: number; readonly wireType: number } {
    if (--this.#budget.fields < 0) throw tooManyValues(definitionBounds);
    const key = this.varint();
    const number = Math.floor(key / 8);
    if (number <= 0) throw new DecodeError(`proto: illegal tag ${number} (wire type ${key % 8})`);
    return { number, wireType: key % 8 };
  }

  double(): number {
    if (this.#at + 8 > this.#end) throw unexpectedEnd();
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + this.#at, 8);
    this.#at += 8;
    return view.getFloat64(0, true);
  }

  /** A view of the next length-delimited field. */
  bytes(): Uint8Array {
    const [start, end] = this.#span();
    return this.#bytes.subarray(start, end);
  }

  string(): string {
    const [start, end] = this.#span();
    if (end - start < 32) {
      let out = '';
      for (let i = start; i < end; i++) {
        const c = this.#bytes[i]!;
        if (c > 127) return text.decode(this.#bytes.subarray(start, end));
        out += String.fromCharCode(c);
      }
      return out;
    }
    return text.decode(this.#bytes.subarray(start, end));
  }

  message(): ProtoReader {
    const [start, end] = this.#span();
    return new ProtoReader(this.#bytes, start, end, this.#budget);
  }

  #span(): [number, number] {
    const length = this.varint();
    if (length < 0) throw new DecodeError('proto: negative length found during unmarshaling');
    const start = this.#at;
    const end = start + length;
    if (end > this.#end) throw unexpectedEnd();
    this.#at = end;
    return [start, end];
  }

  /** Passes over a field that the type does not have. */
  skip(wireType: number): void {
    if (wireType === 0) this.varint();
    else if (wireType === 1) this.#forward(8);
    else if (wireType === 2) this.#span();
    else if (wireType === 5) this.#forward(4);
    else throw new DecodeError(`proto: illegal wireType ${wireType}`);
  }

  #forward(count: number): void {
    if (this.#at + count > this.#end) throw unexpectedEnd();
    this.#at += count;
  }
}

const unexpectedEnd = (): DecodeError => new DecodeError('unexpected EOF');
