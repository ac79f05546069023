// HTTP/1.1 on connections that somebody else has accepted: requests and upgrades.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Rounds } from '../base/rounds.ts';
import type { Answers } from './answers.ts';
import { isPullBody } from './http-message.ts';
import { Http1Reading } from './http1-reading.ts';
import {
  Http1Request,
  hasBody,
  hasFaultyFraming,
  refuseUnreadable,
  refuseUpgrade,
  respondHttp1,
} from './http1-request.ts';
import type { PeerIdentities } from './peer-certificate.ts';
import type { TurnedSocket } from './turned-socket.ts';

/** As Go's server in kube-apiserver: 32 s for the head of a request, 1 MiB of headers is ours at 64 KiB. */
const limits = {
  headersTimeoutMs: 32_000,
  requestTimeoutMs: 90_000,
  keepAliveMs: 90_000,
  maxHeaderBytes: 64 * 1024,
} as const;

export interface Http1Options {
  readonly answers: Answers;
  readonly rounds: Rounds<object>;
  readonly peers: PeerIdentities;
}

export class Http1Service {
  readonly #options: Http1Options;
  readonly #server: Server;
  readonly #readings = new WeakMap<Socket, Http1Reading>();
  /** Their last request has been read. */
  readonly #over = new WeakSet<Socket>();

  constructor(options: Http1Options) {
    this.#options = options;
    this.#server = createServer({
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      maxHeaderSize: limits.maxHeaderBytes,
      noDelay: true,
      // We say ourselves, and in Go's words, that it is missing.
      requireHostHeader: false,
      // As of a protocol that we do not know: RFC 9110, 7.8. Node would tell of it before its body is there.
      shouldUpgradeCallback: (message) => !hasBody(message),
    });
    this.#server.maxRequestsPerSocket = 0;
    this.#server.on('request', (message, out) => this.#request(message, out));
    this.#server.on('upgrade', (message, socket, first) => this.#upgrade(message, socket, first));
    this.#server.on('clientError', refuseUnreadable);
    // Node starts its check of slow clients when the server listens; this one is fed by whoever accepts.
    this.#server.emit('listening');
  }

  /** `bytes`: what TLS reads from. */
  serve(socket: Socket, bytes?: TurnedSocket): void {
    const connect = (): void => void this.#server.emit('connection', socket);
    this.#readings.set(socket, new Http1Reading(socket, this.#options.rounds, connect, { bytes }));
  }

  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  close(): void {
    this.#server.close();
  }

  #request(message: IncomingMessage, out: ServerResponse): void {
    const { socket } = message;
    if (this.#over.has(socket)) return;
    const { answers, peers } = this.#options;
    const request = new Http1Request(message, out, peers);
    if (hasFaultyFraming(message) || request.fault !== undefined) this.#over.add(socket);
    const reading = this.#readings.get(socket);
    request.waited = reading?.waited ?? false;
    reading?.began(message, out);
    answers.began();
    out.once('close', answers.ended);
    out.on('error', ignore);
    if (answers.isClosing || this.#over.has(socket)) out.setHeader('connection', 'close');
    void answers.answer(
      request,
      (response) => {
        respondHttp1(out, request, response, answers.streams);
        if (isPullBody(response.body)) reading?.streams();
      },
      () => out.destroy(),
    );
  }

  #upgrade(message: IncomingMessage, socket: Duplex, first: Buffer): void {
    const reading = this.#readings.get(message.socket);
    const head = Buffer.concat([first, reading?.leave() ?? Buffer.alloc(0)]);
    if (this.#over.has(message.socket) || hasFaultyFraming(message)) {
      socket.destroy();
      return;
    }
    const { answers, peers } = this.#options;
    const request = new Http1Request(message, undefined, peers, { socket, head });
    request.waited = reading?.waited ?? false;
    socket.on('error', ignore);
    void answers.answer(
      request,
      (response) => {
        if (response.hijacked !== true) refuseUpgrade(socket, response);
      },
      () => socket.destroy(),
    );
  }
}

/** Made outside of all functions: a listener holds what the function that it was made in knows. */
const ignore = (): void => {};
