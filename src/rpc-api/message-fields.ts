// Fields of protobuf messages, read and written one by one: for messages that come from others, of which only what is known is taken.
import protobuf from 'protobufjs';

type Reader = protobuf.Reader;
export type Field = (reader: Reader) => void;

export const nothing: Buffer = Buffer.alloc(0);

/** Reads fields by their number; others are skipped. */
export function readFields(bytes: Uint8Array, fields: Readonly<Record<number, Field>>): void {
  const reader = protobuf.Reader.create(bytes);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    const field = fields[tag >>> 3];
    if (field === undefined) reader.skipType(tag & 7);
    else field(reader);
  }
}

export const bufferOf = (reader: Reader): Buffer => {
  const bytes = reader.bytes();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
};

export const lengthDelimited = (number: number): number => (number << 3) | 2;

export const finished = (writer: protobuf.Writer): Buffer => Buffer.from(writer.finish());
