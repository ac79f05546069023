// The bytes of an HTTP/1 connection on their way to the parser: one request after the other, in rounds with other connections.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Rounds } from '../base/rounds.ts';

/** The end of a head and, in a chunked body, of its last chunk. Node's parser knows no other. */
const endOfPart = Buffer.from('\r\n\r\n');
const none = Buffer.alloc(0);
/** Of what may be made of chunks of a byte: each is a call of the parser's. */
const pieceBytes = 16 * 1024;

/** How much of `bytes` the parser gets: no more than up to the end of one request's head. `before`: what it got last. */
function lengthOfPiece(bytes: Buffer, before: Buffer): number {
  if (before.length > 0) {
    const seam = Buffer.concat([before, bytes.subarray(0, endOfPart.length - 1)]).indexOf(endOfPart);
    if (seam !== -1) return seam + endOfPart.length - before.length;
  }
  const piece = bytes.subarray(0, pieceBytes);
  const end = piece.indexOf(endOfPart);
  return end === -1 ? piece.length : end + endOfPart.length;
}

/** What could be the beginning of an end. */
function lastOf(piece: Buffer, before: Buffer): Buffer {
  if (piece.subarray(-endOfPart.length).equals(endOfPart)) return none;
  const most = endOfPart.length - 1;
  if (piece.length >= most) return Buffer.from(piece.subarray(-most));
  return Buffer.concat([before, piece]).subarray(-most);
}

type Listener = (...args: unknown[]) => void;

/** What `add` makes listen, in the place of which somebody else listens. */
function taken(socket: Socket, events: readonly string[], add: () => void): Listener[] {
  const before = events.map((event) => new Set(socket.listeners(event)));
  add();
  return events.map((event, i) => {
    const added = socket.listeners(event).filter((listener) => !before[i]!.has(listener)) as Listener[];
    for (const listener of added) socket.off(event, listener);
    return (...args) => {
      for (const listener of added) listener.apply(socket, args);
    };
  });
}

/**
 * Node's parser tells of each request that is in the bytes it gets, and they would all begin at once: two thousand in one
 * read. So it gets them up to the end of the next request's head, when the request before it is answered, as Go's server
 * reads, and when it is the connection's turn. The rest stays with the socket, which stops reading when it has enough.
 */
export class Http1Reading {
  readonly #socket: Socket;
  readonly #rounds: Pick<Rounds<object>, 'begin'>;
  readonly #parse: Listener;
  readonly #endNow: Listener;
  readonly #address: string;
  #turn: 'none' | 'waiting' | 'granted' = 'none';
  #underWay: IncomingMessage | undefined;
  /** Of a body whose length was said: it goes to the parser without turns. */
  #bodyLeft = 0;
  #before: Buffer = none;
  #rest: Buffer = none;
  /** We have paused the socket; when it is not we, it is Node, and Node resumes it. */
  #holds = false;
  #hasEnded = false;
  #isStream = false;

  /** `connect` hands the socket to Node's server, which listens to it from then on. */
  constructor(socket: Socket, rounds: Pick<Rounds<object>, 'begin'>, connect: () => void) {
    this.#socket = socket;
    this.#rounds = rounds;
    this.#address = socket.remoteAddress ?? '';
    // A client may send its last request and the end together: it is answered all the same.
    socket.allowHalfOpen = true;
    [this.#parse, this.#endNow] = taken(socket, ['data', 'end'], connect) as [Listener, Listener];
    // By the socket's stream, which knows how to wait: what TLS decrypts goes to the parser record by record otherwise.
    socket.on('data', this.#read);
    socket.on('end', this.#end);
  }

  /** The parser has told of a request. */
  began(message: IncomingMessage, out: ServerResponse): void {
    const { 'content-length': length, 'transfer-encoding': encoding } = message.headers;
    this.#bodyLeft = encoding === undefined ? Number(length ?? 0) : 0;
    this.#underWay = message;
    this.#isStream = false;
    out.once('close', this.#answered);
  }

  /** The answer goes on for as long as the client is there. */
  streams(): void {
    this.#isStream = true;
    if (this.#hasEnded) this.#endNow();
  }

  /** The socket is somebody else's from now on, and so is what has been read of it, which is answered. */
  leave(): Buffer {
    const socket = this.#socket;
    socket.off('data', this.#read);
    socket.off('end', this.#end);
    socket.allowHalfOpen = false;
    const rest = this.#rest;
    this.#rest = none;
    return rest;
  }

  readonly #read = (bytes: Buffer): void => {
    this.#holds = false;
    this.#rest = bytes;
    while (this.#rest.length > 0) {
      // After its last answer nobody looks at what else it has sent.
      if (this.#socket.destroyed || this.#socket.writableEnded) this.#rest = none;
      else if (this.#socket.isPaused() || !this.#mayGoOn()) this.#hold();
      else this.#next();
    }
  };

  #next(): void {
    const bytes = this.#rest;
    const counted = this.#bodyLeft > 0;
    const length = counted ? Math.min(this.#bodyLeft, bytes.length) : lengthOfPiece(bytes, this.#before);
    const piece = bytes.subarray(0, length);
    this.#rest = bytes.subarray(length);
    this.#before = counted ? none : lastOf(piece, this.#before);
    if (counted) this.#bodyLeft -= length;
    this.#parse(piece);
  }

  #mayGoOn(): boolean {
    if (this.#bodyLeft > 0) return true;
    if (this.#underWay?.complete === true || this.#turn === 'waiting') return false;
    if (this.#turn === 'granted') {
      this.#turn = 'none';
      return true;
    }
    const turn = this.#rounds.begin(this, this.#address);
    if (turn === undefined) return true;
    this.#turn = 'waiting';
    void turn.then(() => {
      this.#turn = 'granted';
      this.#goOn();
    });
    return false;
  }

  #hold(): void {
    const rest = this.#rest;
    this.#rest = none;
    if (!this.#socket.isPaused()) {
      this.#holds = true;
      this.#socket.pause();
    }
    this.#socket.unshift(rest);
  }

  #goOn(): void {
    if (!this.#holds || this.#socket.destroyed) return;
    this.#holds = false;
    this.#socket.resume();
  }

  readonly #answered = (): void => {
    this.#underWay = undefined;
    if (this.#hasEnded && !this.#socket.writableEnded) this.#endNow();
    this.#goOn();
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    if (this.#underWay?.complete !== true || this.#isStream) this.#endNow();
  };
}
