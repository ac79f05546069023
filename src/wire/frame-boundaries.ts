// Where frames end in bytes that pass through: each has a head, which says how long the rest of it is.

export abstract class FrameBoundaries {
  protected readonly head: Buffer;
  #headLength = 0;
  /** Of the payload of the frame under way. */
  #left = 0;

  constructor(longestHead: number) {
    this.head = Buffer.alloc(longestHead);
  }

  /** How long the head is, as far as its first bytes tell; more than there are of it while they do not. */
  protected abstract headLength(known: number): number;
  /** Of a head that is whole. */
  protected abstract payloadLength(): number;

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
      const wanted = this.headLength(this.#headLength) - this.#headLength;
      const taken = chunk.copy(this.head, this.#headLength, at, at + wanted);
      this.#headLength += taken;
      at += taken;
      if (this.#headLength < this.headLength(this.#headLength)) continue;
      this.#left = this.payloadLength();
      this.#headLength = 0;
    }
  }
}
