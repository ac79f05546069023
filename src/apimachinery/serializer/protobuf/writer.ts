// Writes the protobuf wire format into one growing buffer.

const text = new TextEncoder();

export interface ProtoWriter {
  /** Field key: number and wire type (0 varint, 1 fixed64, 2 bytes). */
  tag(number: number, wireType: 0 | 1 | 2): void;
  varint(value: number | bigint): void;
  double(value: number): void;
  bytes(value: Uint8Array): void;
  string(value: string): void;
  /** A length-delimited message: what `write` adds is measured and its length put before it. */
  message(write: () => void): void;
  finish(): Uint8Array;
}

const initialSize = 1024;

export function createProtoWriter(): ProtoWriter {
  let buffer = new Uint8Array(initialSize);
  let at = 0;
  const room = (more: number): void => {
    if (at + more <= buffer.length) return;
    const bigger = new Uint8Array(Math.max(buffer.length * 2, at + more));
    bigger.set(buffer.subarray(0, at));
    buffer = bigger;
  };
  const varint = (value: number | bigint): void => {
    room(10);
    if (typeof value === 'number' && value >= 0) {
      let rest = value;
      while (rest > 127) {
        buffer[at++] = (rest % 128) | 128;
        rest = Math.floor(rest / 128);
      }
      buffer[at++] = rest;
      return;
    }
    let rest = BigInt.asUintN(64, BigInt(value));
    while (rest > 127n) {
      buffer[at++] = Number(rest & 127n) | 128;
      rest >>= 7n;
    }
    buffer[at++] = Number(rest);
  };
  const bytes = (value: Uint8Array): void => {
    varint(value.length);
    room(value.length);
    buffer.set(value, at);
    at += value.length;
  };
  return {
    tag: (number, wireType) => varint(number * 8 + wireType),
    varint,
    double(value) {
      room(8);
      new DataView(buffer.buffer).setFloat64(at, value, true);
      at += 8;
    },
    bytes,
    string(value) {
      // Short ASCII is the rule: no encoder call for it.
      const length = value.length;
      if (length < 128) {
        room(length + 1);
        const start = at + 1;
        let i = 0;
        for (; i < length; i++) {
          const c = value.charCodeAt(i);
          if (c > 127) break;
          buffer[start + i] = c;
        }
        if (i === length) {
          buffer[at] = length;
          at = start + length;
          return;
        }
      }
      bytes(text.encode(value));
    },
    message(write) {
      room(5);
      const start = at;
      at += 1;
      write();
      const size = at - start - 1;
      if (size < 128) {
        buffer[start] = size;
        return;
      }
      let width = 1;
      for (let rest = size; rest > 127; rest = Math.floor(rest / 128)) width++;
      room(width - 1);
      buffer.copyWithin(start + width, start + 1, at);
      const end = at + width - 1;
      at = start;
      varint(size);
      at = end;
    },
    finish: () => buffer.slice(0, at),
  };
}
