// One HTTP/1 connection: what is asked on it, one after the other, and how long its client may take.
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import type { Rounds } from '../base/rounds.ts';
import type { Answers } from './answers.ts';
import { discardBody, type HttpResponse, isPullBody } from './http-message.ts';
import { answerHttp1 } from './http1-answer.ts';
import { Http1Parser, type ParseError, type RequestHead } from './http1-parser.ts';
import { Http1Reading } from './http1-reading.ts';
import { Http1Request } from './http1-request.ts';
import type { PeerIdentities } from './peer-certificate.ts';
import type { SessionClients } from './session-clients.ts';
import type { TurnedSocket } from './turned-socket.ts';
import { unreadAnswers } from './unread-answers.ts';

/** As Go's server in kube-apiserver: 32 s for the head of a request; 1 MiB of headers is ours at 64 KiB. */
const limits = {
  headersTimeoutMs: 32_000,
  requestTimeoutMs: 90_000,
  keepAliveMs: 90_000,
  maxHeaderBytes: 64 * 1024,
} as const;

/** As Go's server: time for the client to read the answer to something that nobody will read. */
const unreadMs = 500;
/** So often again for who goes on sending meanwhile: cut off, it would lose the answer to what it has sent. */
const unreadRounds = 10;

export interface Http1Options {
  readonly answers: Answers;
  readonly rounds: Pick<Rounds<object>, 'begin'>;
  readonly peers: PeerIdentities;
  readonly clock: Pick<Clock, 'now'>;
  /** Who asks the kernel whether clients have left. */
  readonly clients?: SessionClients;
}

/** A request that was answered before it was whole. */
interface EarlyAnswer {
  /** Whether the connection goes on behind it. */
  readonly goesOn: boolean;
  /** How long its rest may take. */
  limit: NodeJS.Timeout | undefined;
}

export class Http1Connection {
  readonly #socket: Socket;
  readonly #options: Http1Options;
  readonly #parser: Http1Parser;
  readonly #reading: Http1Reading;
  #request: Http1Request | undefined;
  /** Since when nothing is asked; undefined: something of a request has come. */
  #idleSince: number | undefined;
  /** When the first bytes of what is being asked came, or the connection was made. */
  #askedSince: number;
  /** Nothing that follows is looked at. */
  #isOver = false;
  #isUpgraded = false;
  /** Something of the answer may have been written. */
  #isAnswering = false;
  #early: EarlyAnswer | undefined;

  /** `bytes`: what TLS reads from. */
  constructor(socket: Socket, options: Http1Options, bytes?: TurnedSocket) {
    this.#socket = socket;
    this.#options = options;
    this.#askedSince = performance.now();
    this.#parser = new Http1Parser(
      {
        head: (head) => this.#began(head),
        body: (piece) => this.#request?.take(piece),
        complete: () => this.#request?.complete(),
      },
      limits.maxHeaderBytes,
    );
    this.#reading = new Http1Reading(
      socket,
      options.rounds,
      { read: (piece) => this.#read(piece), end: () => this.#end() },
      { bytes, clients: options.clients },
    );
    socket.on('end', this.#left);
    socket.once('close', () => this.#closed());
  }

  /** Nothing is under way on it. */
  get isIdle(): boolean {
    return this.#request === undefined && this.#reading.isEmpty;
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Lets a client go that takes too long; who has an answer under way may take as long as that does. */
  look(now: number): void {
    const { headersTimeoutMs, requestTimeoutMs, keepAliveMs } = limits;
    if (this.#request === undefined) {
      if (this.#idleSince === undefined) {
        if (now - this.#askedSince > headersTimeoutMs) this.#refuse('408 Request Timeout');
      } else if (now - this.#idleSince > keepAliveMs) this.#endIdle();
    } else if (!this.#request.isComplete && now - this.#askedSince > requestTimeoutMs)
      this.#refuse('408 Request Timeout');
  }

  /** Who does not even take that it ends is cut at the next look. */
  #endIdle(): void {
    if (this.#socket.writableEnded) this.#socket.destroy();
    else this.#socket.destroySoon();
  }

  #read(bytes: Buffer): void {
    if (this.#isOver) return;
    if (this.#request === undefined && this.#idleSince !== undefined) {
      this.#idleSince = undefined;
      this.#askedSince = performance.now();
    }
    const rest = this.#parser.read(bytes);
    if (rest instanceof Error) this.#unreadable(rest);
    else if (rest) this.#handOver(rest);
    else if (this.#early && this.#request?.isComplete) this.#goOnBehind(this.#early);
  }

  /** The client sends no more. */
  #end(): void {
    const error = this.#isOver ? undefined : this.#parser.finish();
    if (error) this.#unreadable(error);
    else this.#socket.end();
  }

  #unreadable({ code }: ParseError): void {
    this.#refuse(code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request');
  }

  /** What was sent is no request, or was not sent in time. In the middle of an answer there is nothing to say. */
  #refuse(status: string): void {
    const socket = this.#socket;
    this.#isOver = true;
    if (this.#isAnswering || !socket.writable) {
      socket.destroy();
      return;
    }
    socket.end(
      `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`,
    );
    setTimeout(() => socket.destroy(), unreadMs).unref();
  }

  readonly #left = (): void => this.#request?.left();

  /** Answers whether the client goes on in another protocol. */
  #began(head: RequestHead): boolean {
    if (this.#isOver) return false;
    const socket = this.#socket;
    const { peers } = this.#options;
    if (this.#request !== undefined) {
      // We and the parser are not of one mind where the one before it ends.
      this.#isOver = true;
      socket.destroy();
      return false;
    }
    const request = new Http1Request(head, { socket, peers, waited: this.#reading.waited });
    // As in Go, who will send no more has left; what is answered all the same is sent.
    if (socket.readableEnded) request.left();
    this.#request = request;
    this.#isOver = request.isLast;
    // One with a body asks in a protocol that we do not know (RFC 9110, 7.8): the other one would begin before the body is there.
    if (head.asksForUpgrade && !request.hasBody && !request.isLast) return true;
    this.#reading.began(request);
    this.#answer(head, request);
    return false;
  }

  #answer(head: RequestHead, request: Http1Request): void {
    const { answers } = this.#options;
    answers.began();
    const respond = (response: HttpResponse): void => {
      const goesOn = head.keepsAlive && !answers.isClosing && !this.#isOver && !request.leavesBodyOpen;
      this.#respond(request, response, goesOn);
      if (isPullBody(response.body)) this.#reading.streams();
    };
    void answers.answer(request, respond, () => this.#socket.destroy());
  }

  #respond(request: Http1Request, response: HttpResponse, keepsAlive: boolean): void {
    const { answers, clock } = this.#options;
    const given = (goesOn: boolean): void => this.#given(request, goesOn);
    this.#isAnswering = true;
    answerHttp1(
      { socket: this.#socket, request, keepsAlive, now: clock.now(), streams: answers.streams, given },
      response,
    );
  }

  #given(request: Http1Request, goesOn: boolean): void {
    if (this.#request !== request) return;
    this.#options.answers.ended();
    request.answered();
    if (request.isComplete || this.#isOver) this.#next(goesOn);
    // A body that goes on after its answer would be parsed as long as its sender likes.
    else {
      const early: EarlyAnswer = { goesOn, limit: undefined };
      this.#early = early;
      this.#waitForRest(early, unreadRounds);
    }
  }

  #waitForRest(early: EarlyAnswer, rounds: number): void {
    const socket = this.#socket;
    const seen = socket.bytesRead;
    const look = (): void => {
      if (this.#early !== early) return;
      if (rounds === 0 || socket.bytesRead === seen) socket.destroy();
      else this.#waitForRest(early, rounds - 1);
    };
    // What came while this process was busy with something else is read first.
    early.limit = setTimeout(() => setImmediate(look), unreadMs);
  }

  /** The rest of what has its answer has come. */
  #goOnBehind({ goesOn, limit }: EarlyAnswer): void {
    clearTimeout(limit);
    this.#early = undefined;
    this.#next(goesOn);
  }

  #next(goesOn: boolean): void {
    this.#request = undefined;
    this.#isAnswering = false;
    if (goesOn) {
      this.#idleSince = performance.now();
      this.#reading.answered();
      // Its answer may have begun before the server's end did, and said that the connection goes on.
      if (this.#options.answers.isClosing && this.isIdle) this.#socket.destroySoon();
    } else {
      this.#isOver = true;
      this.#socket.destroySoon();
    }
  }

  /** The connection is that of another protocol. `first`: what has come of it. */
  #handOver(first: Buffer): void {
    const socket = this.#socket;
    const request = this.#request;
    socket.off('end', this.#left);
    this.#isUpgraded = true;
    const head = Buffer.concat([first, this.#reading.leave()]);
    if (request === undefined || this.#isOver) {
      socket.destroy();
      return;
    }
    request.upgrade = { socket, head };
    const respond = (response: HttpResponse): void => {
      if (response.hijacked !== true) this.#respondInHttp(request, response);
    };
    void this.#options.answers.answer(request, respond, () => socket.destroy());
  }

  /** Nobody has taken the connection over. It is answered as any request is, and is its connection's last. */
  #respondInHttp(request: Http1Request, response: HttpResponse): void {
    if (this.#request !== request) {
      // The client has left: nobody would tell that the answer is given, and the server's end would wait for it.
      discardBody(response.body);
      return;
    }
    this.#isUpgraded = false;
    this.#options.answers.began();
    // So that a client that leaves is noticed; what else it sends is for nobody.
    this.#socket.on('end', this.#left).resume();
    this.#respond(request, response, false);
  }

  #closed(): void {
    this.#parser.close();
    unreadAnswers.taken(this.#socket);
    const request = this.#request;
    if (request === undefined) return;
    this.#request = undefined;
    if (this.#early) clearTimeout(this.#early.limit);
    else if (!this.#isUpgraded) this.#options.answers.ended();
    request.cut();
  }
}
