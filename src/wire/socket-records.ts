// What comes out of TLS, record by record: a few small ones as they come, the rest of a round in one piece.
import type { Socket } from 'node:net';

/** Of one connection in a round: a client that is meant well sends no more so small ones at once. */
const passedAtOnce = 8;
const smallBytes = 256;
/** What a record counts as at least, and how far behind that a connection may be: as a body that is sent in such pieces. */
const leastRecordBytes = 64;
const mostMissingBytes = 3 << 20;

/** No public door says to Node what its streams say when they have no room. */
interface Handle {
  reading: boolean;
  readStop(): number;
}

function stopUntilAsked(socket: Socket): void {
  const handle = (socket as unknown as { readonly _handle?: Handle | null })._handle;
  if (handle?.reading !== true) return;
  handle.reading = false;
  handle.readStop();
}

/**
 * TLS tells of each record that it has decrypted, from one byte on, and all that one read of the socket has brought, some
 * thousand: each would be a call of the parser's.
 */
export class SocketRecords {
  readonly #socket: Socket;
  readonly #push: Socket['push'];
  #kept: Buffer[] = [];
  #passed = 0;
  #missing = 0;
  #isFramed = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#push = socket.push.bind(socket);
    // Whoever reads the socket, also once it is upgraded: this is where Node hands over what it has read.
    socket.push = (record: Buffer | null, encoding?: BufferEncoding) => this.#came(record, encoding);
  }

  /** Upgraded: as many small records as it likes. Exec writes the head of each frame by itself. */
  framed(): void {
    this.#isFramed = true;
  }

  #came(record: Buffer | null, encoding?: BufferEncoding): boolean {
    if (record === null) {
      this.#passOn();
      return this.#push(null);
    }
    if (this.#isAbsurd(record)) {
      this.#socket.destroy();
      return false;
    }
    if (record.length >= smallBytes) this.#passOn();
    else if (this.#isCrowded()) {
      this.#kept.push(record);
      return true;
    }
    return this.#push(record, encoding);
  }

  #isAbsurd({ length }: Buffer): boolean {
    this.#missing = Math.max(0, this.#missing + leastRecordBytes - length);
    return this.#missing > mostMissingBytes && !this.#isFramed;
  }

  #isCrowded(): boolean {
    if (this.#passed === 0) setImmediate(() => this.#endRound());
    return ++this.#passed > passedAtOnce;
  }

  #endRound(): void {
    this.#passed = 0;
    this.#passOn();
  }

  #passOn(): void {
    const kept = this.#kept;
    this.#kept = [];
    if (kept.length === 0 || this.#socket.destroyed) return;
    if (!this.#push(Buffer.concat(kept))) stopUntilAsked(this.#socket);
  }
}
