// The client's half of SPDY/3.1 as Kubernetes uses it for exec and attach: streams over an upgraded connection.
import type { Duplex } from 'node:stream';
import { constants, createDeflate, type Deflate } from 'node:zlib';
import { spdyDictionary } from './spdy-dictionary.ts';

const frame = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  windowUpdate: 9,
} as const;
const flagFin = 1;
const headBytes = 8;
/** Control frames are kept until they are whole. Nobody who is well sends more than a few headers in one. */
const maxControlBytes = 64 * 1024;
/** Answers to pings that the peer does not read. */
const maxUnreadBytes = 1024 * 1024;
const maxDataBytes = 32 * 1024;
/** As client-go waits for the answer to a stream that it opens. */
const replyMs = 30_000;

export interface SpdyStream {
  readonly id: number;
  /** False when the connection is full: wait for `onDrain` of the connection. */
  write(data: Buffer): boolean;
  /** Half-close: no more data from us. */
  end(): void;
}

export interface SpdyStreamHandlers {
  onData(data: Buffer): void;
  /** The peer is done with the stream, or reset it. */
  onEnd(): void;
}

const isControl = (head: Buffer): boolean => (head[0]! & 0x80) !== 0;
const streamOf = (head: Buffer): number => head.readUInt32BE(0) & 0x7fffffff;

export class SpdyConnection {
  readonly #socket: Duplex;
  readonly #deflate: Deflate;
  readonly #streams = new Map<number, SpdyStreamHandlers>();
  /** Streams that the peer has not answered yet; told whether it took them. */
  readonly #unanswered = new Map<number, (taken: boolean) => void>();
  readonly #compressed: Buffer[] = [];
  #queue: Promise<void> = Promise.resolve();
  #nextId = 1;
  /** Of the frame under way; its first `#headLength` bytes have come. */
  readonly #head = Buffer.alloc(headBytes);
  #headLength = 0;
  /** Of its payload: what has not come yet, and of a control frame what has. */
  #left = 0;
  #parts: Buffer[] = [];
  #closed = false;
  onClose: () => void = () => {};

  constructor(socket: Duplex, head: Buffer) {
    this.#socket = socket;
    this.#deflate = createDeflate({ dictionary: spdyDictionary });
    this.#deflate.on('data', (chunk: Buffer) => this.#compressed.push(chunk));
    this.#deflate.on('error', () => this.close());
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => this.close());
    socket.on('end', () => this.close());
    socket.on('close', () => this.close());
    if (head.length > 0) this.#read(head);
    // Its 'close' has been told to nobody.
    if (socket.destroyed) this.close();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Pauses reading while whoever takes the data is slow. */
  pause(): void {
    this.#socket.pause();
  }
  resume(): void {
    this.#socket.resume();
  }
  onDrain(callback: () => void): void {
    this.#socket.once('drain', callback);
  }

  /**
   * Opens a stream, and waits for the peer's answer: containerd throws data away that come before it, and never ends an
   * exec whose streams it could not answer. Throws when the connection is gone or the stream refused. Header blocks
   * share one compression context, so they go out one after the other.
   */
  async createStream(
    headers: Readonly<Record<string, string>>,
    handlers: SpdyStreamHandlers,
  ): Promise<SpdyStream> {
    const id = this.#nextId;
    this.#nextId += 2;
    if (this.#closed) throw closedError();
    this.#streams.set(id, handlers);
    const answer = this.#answerTo(id);
    const done = this.#queue.then(async () => {
      const block = await this.#compress(headerBlock(headers));
      const head = Buffer.alloc(18);
      head.writeUInt16BE(0x8003, 0);
      head.writeUInt16BE(frame.synStream, 2);
      head.writeUInt32BE(10 + block.length, 4);
      head.writeUInt32BE(id, 8);
      if (!this.#closed) this.#socket.write(Buffer.concat([head, block]));
    });
    this.#queue = done.catch(() => undefined);
    await done;
    if (!(await answer)) throw new Error(`the SPDY stream ${id} was not taken`);
    return {
      id,
      write: (data) => this.#data(id, data, 0),
      end: () => void this.#data(id, Buffer.alloc(0), flagFin),
    };
  }

  /** Never rejects: nobody may be there yet to hear it. */
  #answerTo(id: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#answered(id, false), replyMs);
      timer.unref();
      this.#unanswered.set(id, (taken) => {
        clearTimeout(timer);
        resolve(taken);
      });
    });
  }
  #answered(id: number, taken: boolean): void {
    this.#unanswered.get(id)?.(taken);
    this.#unanswered.delete(id);
  }

  #compress(block: Buffer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(closedError());
        return;
      }
      // A compressor that is closed calls nobody back.
      const closed = (): void => reject(closedError());
      this.#deflate.once('close', closed);
      this.#deflate.write(block);
      this.#deflate.flush(constants.Z_SYNC_FLUSH, () => {
        this.#deflate.off('close', closed);
        resolve(Buffer.concat(this.#compressed.splice(0)));
      });
    });
  }

  #data(id: number, data: Buffer, flags: number): boolean {
    if (this.#closed) return true;
    let ready = true;
    for (let at = 0; at === 0 || at < data.length; at += maxDataBytes) {
      const part = data.subarray(at, at + maxDataBytes);
      const head = Buffer.alloc(8);
      head.writeUInt32BE(id, 0);
      head.writeUInt32BE(part.length, 4);
      head[4] = at + maxDataBytes >= data.length ? flags : 0;
      ready = this.#socket.write(Buffer.concat([head, part]));
    }
    return ready;
  }

  /** Data goes on as it comes, however it is cut: what waits for its frame's end is copied once. */
  #read(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && !this.#closed) {
      if (this.#left === 0) {
        rest = this.#readHead(rest);
        continue;
      }
      const part = rest.subarray(0, this.#left);
      rest = rest.subarray(part.length);
      this.#left -= part.length;
      if (isControl(this.#head)) this.#parts.push(part);
      else this.#streams.get(streamOf(this.#head))?.onData(part);
      if (this.#left === 0) this.#frameEnded();
    }
  }

  /** Returns what comes after the head; a frame without a payload ends with it. */
  #readHead(chunk: Buffer): Buffer {
    const taken = chunk.copy(this.#head, this.#headLength, 0, headBytes - this.#headLength);
    this.#headLength += taken;
    if (this.#headLength === headBytes) {
      this.#headLength = 0;
      this.#left = this.#head.readUInt32BE(4) & 0xffffff;
      if (isControl(this.#head) && this.#left > maxControlBytes) this.close();
      else if (this.#left === 0) this.#frameEnded();
    }
    return chunk.subarray(taken);
  }

  #frameEnded(): void {
    if (isControl(this.#head)) this.#control(this.#head, Buffer.concat(this.#parts.splice(0)));
    else if ((this.#head[4]! & flagFin) !== 0) this.#endStream(streamOf(this.#head));
  }

  #control(head: Buffer, payload: Buffer): void {
    switch (head.readUInt16BE(2)) {
      case frame.synReply:
        if (payload.length < 4) return;
        this.#answered(streamOf(payload), true);
        if ((head[4]! & flagFin) !== 0) this.#endStream(streamOf(payload));
        return;
      case frame.rstStream:
        if (payload.length >= 4) this.#endStream(streamOf(payload));
        return;
      case frame.ping:
        // Ours would be odd; an even one is the peer's and is sent back as it came.
        if (payload.length < 4 || payload.readUInt32BE(0) % 2 !== 0) return;
        if (this.#socket.writableLength > maxUnreadBytes) this.close();
        else this.#socket.write(Buffer.concat([head, payload]));
        return;
      case frame.goAway:
        return;
      default:
        return;
    }
  }

  #endStream(id: number): void {
    const handlers = this.#streams.get(id);
    this.#streams.delete(id);
    this.#answered(id, false);
    handlers?.onEnd();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const id of [...this.#streams.keys()]) this.#endStream(id);
    this.#deflate.close();
    this.#socket.destroy();
    this.onClose();
  }
}

const closedError = (): Error => new Error('the SPDY connection is closed');

/** Name and value pairs as SPDY/3 writes them before compression. */
function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers);
  const parts: Buffer[] = [uint32(entries.length)];
  for (const [name, value] of entries) {
    const key = Buffer.from(name.toLowerCase());
    const text = Buffer.from(value);
    parts.push(uint32(key.length), key, uint32(text.length), text);
  }
  return Buffer.concat(parts);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
