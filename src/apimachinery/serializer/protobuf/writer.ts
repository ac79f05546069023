// Writes the protobuf wire format into one growing buffer.

const text = new TextEncoder();

const initialSize = 1024;

export class ProtoWriter {
  #buffer = new Uint8Array(initialSize);
  #at = 0;

  /** Field key: number and wire type (0 varint, 1 fixed64, 2 bytes). */
  tag(number: number, wireType: 0 | 1 | 2): void {
    this.varint(number * 8 + wireType);
  }

  varint(value: number | bigint): void {
    this.#room(10);
    const buffer = this.#buffer;
    let at = this.#at;
    if (typeof value === 'number' && value >= 0) {
      let rest = value;
      while (rest > 127) {
        buffer[at++] = (rest % 128) | 128;
        rest = Math.floor(rest / 128);
      }
      buffer[at++] = rest;
    } else {
      let rest = BigInt.asUintN(64, BigInt(value));
      while (rest > 127n) {
        buffer[at++] = Number(rest & 127n) | 128;
        rest >>= 7n;
      }
      buffer[at++] = Number(rest);
    }
    this.#at = at;
  }

  double(value: number): void {
    this.#room(8);
    new DataView(this.#buffer.buffer).setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.#room(value.length);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
  }

  string(value: string): void {
    // Short ASCII is the rule: no encoder call for it.
    const length = value.length;
    if (length < 128) {
      this.#room(length + 1);
      const buffer = this.#buffer;
      const start = this.#at + 1;
      let i = 0;
      for (; i < length; i++) {
        const c = value.charCodeAt(i);
        if (c > 127) break;
        buffer[start + i] = c;
      }
      if (i === length) {
        buffer[this.#at] = length;
        this.#at = start + length;
        return;
      }
    }
    this.bytes(text.encode(value));
  }

  /** A length-delimited message: what `write` adds is measured and its length put before it. */
  message(write: () => void): void {
    this.#room(5);
    const start = this.#at;
    this.#at += 1;
    write();
    const size = this.#at - start - 1;
    if (size < 128) {
      this.#buffer[start] = size;
      return;
    }
    let width = 1;
    for (let rest = size; rest > 127; rest = Math.floor(rest / 128)) width++;
    this.#room(width - 1);
    this.#buffer.copyWithin(start + width, start + 1, this.#at);
    const end = this.#at + width - 1;
    this.#at = start;
    this.varint(size);
    this.#at = end;
  }

  finish(): Uint8Array {
    return this.#buffer.slice(0, this.#at);
  }

  #room(more: number): void {
    const needed = this.#at + more;
    if (needed <= this.#buffer.length) return;
    const bigger = new Uint8Array(Math.max(this.#buffer.length * 2, needed));
    bigger.set(this.#buffer.subarray(0, this.#at));
    this.#buffer = bigger;
  }
}
