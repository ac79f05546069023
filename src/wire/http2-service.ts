// HTTP/2 on connections that somebody else has accepted: its streams begin in turns, and who has none for long is let go.
import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Rounds } from '../base/rounds.ts';
import type { Answers } from './answers.ts';
import { Http2Request, respondHttp2, sessionSockets } from './http2-request.ts';
import type { PeerIdentities } from './peer-certificate.ts';
import type { TurnedSocket } from './turned-socket.ts';

const limits = {
  maxHeaderBytes: 64 * 1024,
  maxHeaderPairs: 256,
  maxConcurrentStreams: 250,
  windowBytes: 1024 * 1024,
  /** Of one connection: beyond so many megabytes that wait to be sent, new streams are refused. */
  maxSessionMegabytes: 32,
  /** A connection without a request on it is let go, as Go's server does. */
  idleMs: 180_000,
  /** Streams a client may reset at once, and a second after that (CVE-2023-44487). */
  resetBurst: 1000,
  resetRate: 100,
} as const;

/** How often within `idleMs` connections are looked at. */
const sweepsUntilIdle = 4;

export interface Http2Options {
  readonly answers: Answers;
  readonly rounds: Rounds<object>;
  readonly peers: PeerIdentities;
  readonly idleMs: number | undefined;
  readonly onError: (error: unknown, where: string) => void;
}

interface SessionUse {
  /** Streams under way. */
  open: number;
  /** Looks since the last stream began at which none was under way. */
  idleSweeps: number;
  readonly address: string;
  readonly bytes: TurnedSocket | undefined;
}

interface Entered {
  readonly socket: TLSSocket;
  readonly bytes: TurnedSocket;
}

const unused = (entered: Entered | undefined): SessionUse => ({
  open: 0,
  idleSweeps: 0,
  address: entered?.socket.remoteAddress ?? '',
  bytes: entered?.bytes,
});

/** Made outside of all functions: a listener holds what the function that it was made in knows. */
const ignore = (): void => {};

/** By itself, so that what waits for the end of a stream that lasts does not hold its request. */
function countStream(stream: ServerHttp2Stream, use: SessionUse, finished: () => void): void {
  use.open++;
  use.idleSweeps = 0;
  // A body that nobody reads must not hold the connection's window: as Go's server, the stream is let go.
  if (!stream.endAfterHeaders)
    stream.once('finish', () => {
      if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
    });
  stream.once('close', () => {
    use.open--;
    finished();
  });
}

function inTurn(rounds: Rounds<object>, use: SessionUse, request: Http2Request, serve: () => void): void {
  const hadTurn = use.bytes?.takeTurn() === true;
  const turn = hadTurn ? undefined : rounds.begin(use, use.address);
  request.waited = hadTurn || turn !== undefined;
  if (turn === undefined) serve();
  else void turn.then(serve);
}

/** It ends when its last bytes are taken: who takes nothing is cut. */
function closeIdle(session: ServerHttp2Session, use: SessionUse): void {
  use.idleSweeps++;
  if (use.idleSweeps > sweepsUntilIdle) session.close();
  if (use.idleSweeps > 2 * sweepsUntilIdle) sessionSockets.get(session)?.destroy();
}

function createBareServer(): Http2Server {
  return createServer({
    settings: {
      maxConcurrentStreams: limits.maxConcurrentStreams,
      initialWindowSize: limits.windowBytes,
      maxHeaderListSize: limits.maxHeaderBytes,
    },
    maxHeaderListPairs: limits.maxHeaderPairs,
    maxSessionMemory: limits.maxSessionMegabytes,
    maxSessionInvalidFrames: 100,
    maxSessionRejectedStreams: 100,
    streamResetBurst: limits.resetBurst,
    streamResetRate: limits.resetRate,
  } as Parameters<typeof createServer>[0] & object);
}

export class Http2Service {
  readonly #options: Http2Options;
  readonly #server = createBareServer();
  readonly #sessions = new Map<ServerHttp2Session, SessionUse>();
  readonly #sweep: NodeJS.Timeout;
  /** Whose session is about to be told of. */
  #pending: Entered | undefined;

  constructor(options: Http2Options) {
    this.#options = options;
    this.#server.on('session', (session) => this.#began(session));
    this.#server.on('sessionError', ignore);
    // A timeout of the session would be moved at every frame; this costs nothing while there is traffic.
    this.#sweep = setInterval(
      () => {
        for (const [session, use] of this.#sessions) if (use.open === 0) closeIdle(session, use);
      },
      (options.idleMs ?? limits.idleMs) / sweepsUntilIdle,
    );
    this.#sweep.unref();
  }

  serve(entered: Entered): void {
    this.#pending = entered;
    this.#server.emit('connection', entered.socket);
  }

  /** Streams that are under way may end. */
  closeSessions(): void {
    clearInterval(this.#sweep);
    for (const session of this.#sessions.keys()) session.close();
  }

  close(): void {
    for (const session of [...this.#sessions.keys()]) session.destroy();
    this.#server.close();
  }

  #began(session: ServerHttp2Session): void {
    if (this.#pending) sessionSockets.set(session, this.#pending.socket);
    const use = unused(this.#pending);
    this.#pending = undefined;
    session.once('close', () => void this.#sessions.delete(session));
    session.on('error', ignore);
    session.on('frameError', ignore);
    this.#sessions.set(session, use);
    session.on('stream', (stream, headers, _flags, rawHeaders: string[]) =>
      this.#stream(stream as ServerHttp2Stream, headers, rawHeaders, use),
    );
    try {
      session.setLocalWindowSize(4 * limits.windowBytes);
    } catch (error) {
      this.#options.onError(error, 'session');
    }
  }

  #stream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    use: SessionUse,
  ): void {
    stream.on('error', ignore);
    if (headers[':method'] === 'CONNECT') {
      stream.respond({ ':status': 501 }, { endStream: true });
      return;
    }
    const { answers, peers, rounds } = this.#options;
    const request = new Http2Request(stream, headers, rawHeaders, peers);
    answers.began();
    countStream(stream, use, answers.ended);
    inTurn(rounds, use, request, () => {
      void answers.answer(
        request,
        (response) => respondHttp2(stream, request, response, answers.streams),
        () => {
          if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
        },
      );
    });
  }
}
