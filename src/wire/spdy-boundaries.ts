// Where the frames of SPDY end in bytes that pass through, and what may be put between them.
const headBytes = 8;

/**
 * A ping with an odd number is a client's own. This one looks like the answer to one that no client sends: numbers are
 * given from 1 and turn back at half of this. Who did not send it must ignore it (SPDY/3.1, 2.6.5), and sends nothing back.
 */
export const unaskedAnswer: Buffer = Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 4, 0xff, 0xff, 0xff, 0xff]);

export class SpdyBoundaries {
  readonly #head = Buffer.alloc(headBytes);
  #headLength = 0;
  /** Of the payload of the frame under way. */
  #left = 0;

  /** All frames that began are whole. */
  get between(): boolean {
    return this.#headLength === 0 && this.#left === 0;
  }

  read(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#left > 0) {
        const part = Math.min(this.#left, chunk.length - at);
        this.#left -= part;
        at += part;
        continue;
      }
      const taken = chunk.copy(this.#head, this.#headLength, at, at + headBytes - this.#headLength);
      this.#headLength += taken;
      at += taken;
      if (this.#headLength < headBytes) return;
      this.#headLength = 0;
      this.#left = this.#head.readUInt32BE(4) & 0xffffff;
    }
  }
}
