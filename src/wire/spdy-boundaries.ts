// Where the frames of SPDY end in bytes that pass through, and what may be put between them.
import { FrameBoundaries } from './frame-boundaries.ts';

const headBytes = 8;

/**
 * A ping with an odd number is a client's own. This one looks like the answer to one that no client sends: numbers are
 * given from 1 and turn back at half of this. Who did not send it must ignore it (SPDY/3.1, 2.6.5), and sends nothing back.
 */
export const unaskedAnswer: Buffer = Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]);

export class SpdyBoundaries extends FrameBoundaries {
  constructor() {
    super(headBytes);
  }
  protected override headLength(): number {
    return headBytes;
  }
  protected override payloadLength(): number {
    return this.head.readUInt32BE(4) & 0xffffff;
  }
}
