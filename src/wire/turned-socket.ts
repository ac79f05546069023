// The bytes of a TLS connection on their way to the TLS library: a little at a time, in turns with other connections.
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { Rounds } from '../base/rounds.ts';

export interface TurnedSocketOptions {
  readonly rounds: Pick<Rounds<object>, 'begin'>;
  /** Milliseconds. */
  readonly now: () => number;
  /** How long a client that sends no more may take nothing. Default 15 s. */
  readonly afterEndMs?: number;
}

/** A certificate of ours has 1 KB, one with a chain of large RSA keys 6. A hundred in one would be looked at in one step. */
const handshakeBytes = 10 * 1024;
/** What may cost the most a byte comes first: in 24 bytes a stream of HTTP/2 can ask for a hundred headers. */
const slice = { least: 1024, most: 64 * 1024, slowMs: 2, quickMs: 0.5, step: 4 } as const;
/** So many slices in a row cost little before a connection takes turns with those of which that is known. */
const provenBy = 8;

/** TLS ends its own side first: a client that ends that of TCP, and takes nothing for so long, has left. */
const afterEndMs = 15_000;

let fed: TurnedSocket | undefined;

/** Whose bytes TLS is reading right now: who is told of a handshake that has ended learns the connection by it. */
export const socketBeingFed = (): TurnedSocket | undefined => fed;

/**
 * Node reads a socket until it is empty, and whatever is in one read is decrypted, parsed and told of in one go: 64 KB can
 * be three thousand records or hundreds of streams, and all sockets that are readable are read in one round of the event loop.
 * So TLS reads from here. Slices are small while they cost much; their beginnings take turns by address, as requests do.
 * It has of a stream what Node's TLS asks of one. A stream of its own would keep what comes once more, and cost each request a tenth.
 */
export class TurnedSocket extends EventEmitter {
  // What TLS asks to know what to do itself when the client has said its last.
  readonly allowHalfOpen = false;
  readonly readable = true;
  readonly writable = true;
  readonly raw: Socket;
  readonly #options: TurnedSocketOptions;
  readonly #address: string;
  #waiting: Buffer[] = [];
  #hasTurn = false;
  #asksForTurn = false;
  /** A turn that was waited for, which the first request in what it brought may have. */
  #turnToGive = false;
  /** Nothing is told before `resume`. */
  #isWanted = false;
  #hasEnded = false;
  #isOver = false;
  #slice: number = slice.least;
  #quickInRow = 0;
  #handshakeLeft: number = handshakeBytes;

  constructor(raw: Socket, options: TurnedSocketOptions) {
    super();
    this.raw = raw;
    this.#options = options;
    this.#address = raw.remoteAddress ?? '';
    raw.on('data', (bytes: Buffer) => {
      this.#waiting.push(bytes);
      this.#feed();
    });
    raw.on('end', () => {
      this.#hasEnded = true;
      this.#feed();
      this.#endSoon();
    });
    raw.on('error', (error) => this.emit('error', error));
    raw.on('close', () => {
      this.destroy();
      this.emit('close');
    });
    raw.pause();
  }

  /** Whose it is can be asked from now on, so its length says nothing any more. */
  handshakeEnded(): void {
    this.#handshakeLeft = Number.POSITIVE_INFINITY;
  }

  pause(): void {
    this.#isWanted = false;
  }

  /** Later, as of any stream: who asks may not be ready yet. */
  resume(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    process.nextTick(() => this.#feed());
  }

  #feed(): void {
    while (this.#isWanted && !this.#isOver && !this.#asksForTurn) {
      if (this.#waiting.length === 0) {
        if (this.#hasEnded) this.#end();
        else this.raw.resume();
        return;
      }
      if (this.#handshakeLeft === 0) this.destroy();
      else if (this.#mayGoOn()) this.#feedSlice();
      else break;
    }
    // What comes meanwhile is the kernel's to keep.
    if (this.#waiting.length > 0) this.raw.pause();
  }

  /** Whoever reads may have stopped, and is told of no end then: who will send no more, and takes nothing, is let go. */
  #endSoon(): void {
    // Node's own clock of a socket: as long as something of what was written leaves, it begins anew.
    this.raw.setTimeout(this.#options.afterEndMs ?? afterEndMs, () => {
      if (!this.raw.writableEnded) this.destroy();
    });
  }

  #end(): void {
    this.#isOver = true;
    this.emit('end');
  }

  /**
   * Whether there is a turn that its bytes had to wait for: one request need not wait again. It stays until it is taken,
   * for Node tells of a stream of HTTP/2 after all of a slice is read.
   */
  takeTurn(): boolean {
    const is = this.#turnToGive;
    this.#turnToGive = false;
    return is;
  }

  #mayGoOn(): boolean {
    if (this.#hasTurn) {
      this.#hasTurn = false;
      this.#turnToGive = true;
      return true;
    }
    const turn = this.#options.rounds.begin(this, this.#group());
    if (turn === undefined) return true;
    this.#asksForTurn = true;
    void turn.then(() => {
      this.#asksForTurn = false;
      this.#hasTurn = true;
      this.#feed();
    });
    return false;
  }

  /** Of one address, those that cost much and those of which nothing is known have together as many turns as the others. */
  #group(): string {
    return this.#quickInRow >= provenBy ? this.#address : `${this.#address} unproven`;
  }

  #feedSlice(): void {
    const bytes = this.#next();
    // Before TLS has them: it may tell that the handshake has ended with them.
    this.#handshakeLeft -= bytes.length;
    const from = this.#options.now();
    const before = fed;
    fed = this;
    try {
      this.emit('data', bytes);
    } finally {
      fed = before;
    }
    this.#learn(this.#options.now() - from, bytes.length);
  }

  #learn(ms: number, length: number): void {
    if (ms > slice.slowMs) {
      this.#quickInRow = 0;
      this.#slice = Math.max(slice.least, this.#slice / slice.step);
    } else this.#quickInRow++;
    if (ms < slice.quickMs && length === this.#slice)
      this.#slice = Math.min(slice.most, this.#slice * slice.step);
  }

  #next(): Buffer {
    const [first] = this.#waiting as [Buffer];
    const length = Math.min(this.#slice, this.#handshakeLeft);
    if (first.length <= length) {
      this.#waiting.shift();
      return first;
    }
    this.#waiting[0] = first.subarray(length);
    return first.subarray(0, length);
  }

  // What is written goes to the socket as it is: a second queue in front of its own would only cost.
  write(...args: unknown[]): boolean {
    return (this.raw.write as (...args: unknown[]) => boolean).apply(this.raw, args);
  }
  end(...args: unknown[]): void {
    (this.raw.end as (...args: unknown[]) => unknown).apply(this.raw, args);
  }
  cork(): void {
    this.raw.cork();
  }
  uncork(): void {
    this.raw.uncork();
  }
  destroy(): void {
    this.#isOver = true;
    this.#waiting = [];
    this.raw.destroy();
  }
}

/** What Node's TLS socket would know of the connection if it had the socket itself. */
export function showPeer(tls: Socket, raw: Socket): void {
  const { remoteAddress, remotePort, remoteFamily, localAddress, localPort } = raw;
  const facts = { remoteAddress, remotePort, remoteFamily, localAddress, localPort };
  for (const [name, value] of Object.entries(facts)) Object.defineProperty(tls, name, { value });
  tls.setKeepAlive = ((...args: Parameters<Socket['setKeepAlive']>) => {
    raw.setKeepAlive(...args);
    return tls;
  }) as Socket['setKeepAlive'];
}
