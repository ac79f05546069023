// Where the frames of WebSocket end in bytes that pass through, and what may be put between them.
import { FrameBoundaries } from './frame-boundaries.ts';

/** A pong that nobody asked for, of a server: it has no answer, and may stand between the fragments of a message (RFC 6455, 5.5.3). */
export const unaskedPong: Buffer = Buffer.from([0x8a, 0]);

/** Two bytes, up to eight of a long length, four of a mask. */
const longestHead = 14;

const extendedBytes = (lengthByte: number): number => {
  const length = lengthByte & 0x7f;
  if (length < 126) return 0;
  return length === 126 ? 2 : 8;
};

export class WebSocketBoundaries extends FrameBoundaries {
  constructor() {
    super(longestHead);
  }
  protected override headLength(known: number): number {
    if (known < 2) return 2;
    const second = this.head[1]!;
    return 2 + extendedBytes(second) + (second >= 0x80 ? 4 : 0);
  }
  protected override payloadLength(): number {
    const second = this.head[1]!;
    const bytes = extendedBytes(second);
    if (bytes === 0) return second & 0x7f;
    return bytes === 2 ? this.head.readUInt16BE(2) : Number(this.head.readBigUInt64BE(2));
  }
}
