// Where the frames of WebSocket end in bytes that pass through, and what may be put between them.

/** A pong that nobody asked for, of a server: it has no answer, and may stand between the fragments of a message (RFC 6455, 5.5.3). */
export const unaskedPong: Buffer = Buffer.from([0x8a, 0]);

/** Two bytes, up to eight of a long length, four of a mask. */
const longestHead = 14;

const extendedBytes = (lengthByte: number): number => {
  const length = lengthByte & 0x7f;
  if (length < 126) return 0;
  return length === 126 ? 2 : 8;
};

export class WebSocketBoundaries {
  readonly #head = Buffer.alloc(longestHead);
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
      const taken = chunk.copy(this.#head, this.#headLength, at, at + this.#wanted() - this.#headLength);
      this.#headLength += taken;
      at += taken;
      if (this.#headLength < this.#wanted()) continue;
      this.#left = this.#payload();
      this.#headLength = 0;
    }
  }

  /** How long the head is, as far as it is known: at least two bytes. */
  #wanted(): number {
    if (this.#headLength < 2) return 2;
    const second = this.#head[1]!;
    return 2 + extendedBytes(second) + (second >= 0x80 ? 4 : 0);
  }

  #payload(): number {
    const second = this.#head[1]!;
    const bytes = extendedBytes(second);
    if (bytes === 0) return second & 0x7f;
    return bytes === 2 ? this.#head.readUInt16BE(2) : Number(this.#head.readBigUInt64BE(2));
  }
}
