// The bytes of an HTTP/1 connection on their way to the parser: one request after the other, in rounds with other connections.
import type { Socket } from 'node:net';
import type { Rounds } from '../base/rounds.ts';
import { type SessionClients, sessionClients } from './session-clients.ts';

/** The end of a head and of a chunked body. Node's parser knows no other. */
const endOfPart = Buffer.from('\r\n\r\n');
const none = Buffer.alloc(0);
/** Of what may be made of chunks of a byte: each is a call of the parser's. */
const pieceBytes = 16 * 1024;
/** What we keep of what waits for its request to be begun. */
const keptBytes = 64 * 1024;

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

const [cr, lf, zero] = Buffer.from('\r\n0') as unknown as [number, number, number];

/**
 * Where a chunked body could end: at the first empty line behind a line that begins with a zero, as that of its last
 * chunk does. Cut at each empty line, a text of empty lines would become pieces that cost like chunks of a byte.
 */
class ChunkedEnd {
  /** Of the end of a line and of that of an empty one behind it. A body begins where a line does. */
  #matched = 2;
  #isLast = false;

  lengthOfPiece(bytes: Buffer): number {
    const most = Math.min(bytes.length, pieceBytes);
    for (let i = 0; i < most; i++) if (this.#endsAt(bytes[i]!)) return i + 1;
    return most;
  }

  #endsAt(byte: number): boolean {
    if (byte === lf && this.#matched % 2 === 1) return this.#endsLine();
    if (byte === cr) this.#matched = this.#matched === 2 ? 3 : 1;
    else {
      if (byte === zero && this.#matched === 2) this.#isLast = true;
      this.#matched = 0;
    }
    return false;
  }

  #endsLine(): boolean {
    const ends = this.#matched === 3 && this.#isLast;
    if (ends) this.#isLast = false;
    this.#matched = 2;
    return ends;
  }
}

/** Where the bytes go. */
export interface Parsing {
  read(bytes: Buffer): void;
  /** The client sends no more, and all that it sent is answered or being answered. */
  end(): void;
}

/** As much of a request as its bytes need. */
export interface RequestBeingRead {
  /** Of a body whose length was said. */
  readonly bodyLength: number;
  readonly isComplete: boolean;
}

export interface ReadingOptions {
  readonly clients?: SessionClients | undefined;
  /** Through which the bytes of TLS came, perhaps after a turn that they waited for. */
  readonly bytes?: { takeTurn(): boolean } | undefined;
}

/**
 * Node's parser tells of each request that is in the bytes it gets, and they would all begin at once: two thousand in one
 * read. So it gets them up to the end of the next request's head, when the request before it is answered, as Go's server
 * reads, and when it is the connection's turn. The rest waits here, and the socket is read on, as nothing else tells that
 * the client has left, until that is enough.
 */
export class Http1Reading {
  readonly #socket: Socket;
  readonly #rounds: Pick<Rounds<object>, 'begin'>;
  readonly #parsing: Parsing;
  readonly #clients: SessionClients;
  readonly #address: string;
  readonly #bytes: ReadingOptions['bytes'];
  #turn: 'none' | 'waiting' | 'granted' = 'none';
  #waited = false;
  #underWay: RequestBeingRead | undefined;
  /** Of a body whose length was said: it goes to the parser without turns. */
  #bodyLeft = 0;
  #chunkedEnd = new ChunkedEnd();
  #before: Buffer = none;
  #rest: Buffer = none;
  /** What came behind it: put together when it is looked at, as each record of TLS comes by itself. */
  #behind: Buffer[] = [];
  #waitingBytes = 0;
  /** We have paused the socket; when it is not we, it is Node, and Node resumes it. */
  #holds = false;
  #hasEnded = false;
  #isStream = false;
  #isLookedAt = false;

  constructor(
    socket: Socket,
    rounds: Pick<Rounds<object>, 'begin'>,
    parsing: Parsing,
    { clients = sessionClients, bytes }: ReadingOptions = {},
  ) {
    this.#socket = socket;
    this.#rounds = rounds;
    this.#parsing = parsing;
    this.#clients = clients;
    this.#bytes = bytes;
    this.#address = socket.remoteAddress ?? '';
    // A client may send its last request and the end together: it is answered all the same.
    socket.allowHalfOpen = true;
    // By the socket's stream, which knows how to wait: what TLS decrypts goes to the parser record by record otherwise.
    socket.on('data', this.#read);
    socket.on('end', this.#end);
  }

  get isEmpty(): boolean {
    return this.#waitingBytes === 0;
  }

  /** What the parser tells of had to wait for its turn. */
  get waited(): boolean {
    return this.#waited;
  }

  /** The parser has told of a request. */
  began(request: RequestBeingRead): void {
    this.#bodyLeft = request.bodyLength;
    this.#chunkedEnd = new ChunkedEnd();
    this.#underWay = request;
    this.#isStream = false;
  }

  answered(): void {
    this.#underWay = undefined;
    this.#isStream = false;
    this.#goOn();
  }

  /** The answer goes on for as long as the client is there. */
  streams(): void {
    this.#isStream = true;
    if (this.#hasEnded) this.#parsing.end();
    else if (this.#waitingBytes > keptBytes) this.#hold();
  }

  /** The socket is somebody else's from now on, and so is what has been read of it, which is answered. */
  leave(): Buffer {
    const socket = this.#socket;
    socket.off('data', this.#read);
    socket.off('end', this.#end);
    // What comes until somebody listens waits, as with node:http.
    (socket as { readableFlowing: boolean | null }).readableFlowing = null;
    socket.allowHalfOpen = false;
    // Nobody will be told of the end again.
    if (this.#hasEnded) socket.end();
    return this.#takeRest();
  }

  readonly #read = (bytes: Buffer): void => {
    this.#holds = false;
    this.#behind.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#parseRest();
  };

  #parseRest(): void {
    const socket = this.#socket;
    while (this.#waitingBytes > 0) {
      // After its last answer nobody looks at what else it has sent.
      if (socket.destroyed || socket.writableEnded) this.#takeRest();
      // After its end nothing can be given back, and there is no more of it than this.
      else if (socket.isPaused() && !this.#hasEnded) this.#giveBack();
      else if (this.#mayGoOn()) this.#next();
      else {
        if (this.#waitingBytes > keptBytes) this.#hold();
        return;
      }
    }
  }

  #next(): void {
    const bytes = this.#takeRest();
    const length = this.#lengthOfPiece(bytes);
    this.#rest = bytes.subarray(length);
    this.#waitingBytes = this.#rest.length;
    this.#parsing.read(bytes.subarray(0, length));
  }

  #takeRest(): Buffer {
    const parts = this.#rest.length > 0 ? [this.#rest, ...this.#behind] : this.#behind;
    this.#rest = none;
    this.#behind = [];
    this.#waitingBytes = 0;
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  #lengthOfPiece(bytes: Buffer): number {
    const before = this.#before;
    this.#before = none;
    if (this.#bodyLeft > 0) {
      const length = Math.min(this.#bodyLeft, bytes.length);
      this.#bodyLeft -= length;
      return length;
    }
    if (this.#underWay?.isComplete === false) return this.#chunkedEnd.lengthOfPiece(bytes);
    const length = lengthOfPiece(bytes, before);
    this.#before = lastOf(bytes.subarray(0, length), before);
    return length;
  }

  #mayGoOn(): boolean {
    if (this.#bodyLeft > 0) return true;
    if (this.#underWay?.isComplete === true || this.#turn === 'waiting') return false;
    if (this.#turn === 'granted') {
      this.#turn = 'none';
      return true;
    }
    const hadTurn = this.#bytes?.takeTurn() === true;
    const turn = hadTurn ? undefined : this.#rounds.begin(this, this.#address);
    this.#waited = hadTurn || turn !== undefined;
    if (turn === undefined) return true;
    this.#turn = 'waiting';
    void turn.then(() => {
      this.#turn = 'granted';
      this.#goOn();
    });
    return false;
  }

  /** Node has paused the socket, and it resumes it. */
  #giveBack(): void {
    this.#socket.unshift(this.#takeRest());
  }

  /** A socket that is not read does not tell that its client has left: the kernel is asked, for as long as an answer takes. */
  #hold(): void {
    if (this.#isStream) {
      // Whoever sends so much behind an answer without an end waits for no second one.
      this.#socket.destroy();
      return;
    }
    this.#holds = true;
    this.#socket.pause();
    if (!this.#isLookedAt) this.#clients.add(this.#socket);
    this.#isLookedAt = true;
  }

  #goOn(): void {
    if (this.#socket.destroyed) return;
    if (this.#holds) {
      this.#holds = false;
      this.#socket.resume();
    }
    this.#parseRest();
    if (this.#hasEnded) this.#endUnlessUnderWay();
  }

  readonly #end = (): void => {
    this.#hasEnded = true;
    if (this.#isStream) this.#parsing.end();
    else this.#endUnlessUnderWay();
  };

  /** What was sent before the end is answered. */
  #endUnlessUnderWay(): void {
    if (this.#waitingBytes > 0 || this.#underWay?.isComplete === true || this.#socket.writableEnded) return;
    this.#parsing.end();
  }
}
