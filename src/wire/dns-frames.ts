// DNS messages in a stream: two bytes of length, then the message.

export function framed(packet: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(packet.length);
  return Buffer.concat([length, packet]);
}

/** Keeps what has come until it is asked for. */
export class DnsFrames {
  #rest: Buffer = Buffer.alloc(0);

  push(data: Buffer): void {
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
  }

  /** Undefined until a whole one is there. */
  next(): Buffer | undefined {
    const rest = this.#rest;
    if (rest.length < 2) return undefined;
    const end = 2 + rest.readUInt16BE(0);
    if (rest.length < end) return undefined;
    this.#rest = rest.subarray(end);
    return rest.subarray(2, end);
  }
}
