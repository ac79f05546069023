// The server's front door: HTTP/2 and HTTP/1.1 (with upgrades) on one TLS port.
import { createServer as createHttp1Server, type ServerResponse } from 'node:http';
import {
  constants,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { Rounds } from '../base/rounds.ts';
import { mostOpenFiles } from '../component-base/open-files.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { discardBody, type HttpRequest, type HttpResponse, isPullBody } from './http-message.ts';
import { Http1Reading } from './http1-reading.ts';
import {
  Http1Request,
  hasBody,
  hasFaultyFraming,
  hasUnknownCoding,
  refusalOf,
  refuseUnreadable,
  refuseUpgrade,
  respondHttp1,
} from './http1-request.ts';
import { Http2Request, respondHttp2, sessionSockets } from './http2-request.ts';
import { connectionsOf, OpenConnections } from './open-connections.ts';
import { peerIdentities } from './peer-certificate.ts';
import { type ServerTls, TlsDoor } from './tls-door.ts';
import type { TurnedSocket } from './turned-socket.ts';

export type { ServerTls } from './tls-door.ts';

export interface HttpServerOptions {
  readonly handler: (request: HttpRequest) => Promise<HttpResponse>;
  /** undefined: plain HTTP/1.1, for a loopback port in tests. */
  readonly tls: ServerTls | undefined;
  /** How long a client may take until it has said hello, and from its turn on until it is known who it is. Default 10 s each. */
  readonly handshakeTimeoutMs?: number | undefined;
  /** Default: what the descriptors of the process allow. */
  readonly mostConnections?: number | undefined;
  /** How long a connection without requests is kept. */
  readonly idleMs?: number | undefined;
  /** What time it is for client certificates. Default: the machine's clock. */
  readonly clock?: Pick<Clock, 'now'>;
  /** Failures that no client sees. */
  readonly onError?: (error: unknown, where: string) => void;
}

export interface HttpServer {
  /** May be called again, for further addresses. */
  listen(port: number, host: string): Promise<{ readonly port: number; readonly host: string }>;
  /** New certificates for new connections. */
  setTls(tls: ServerTls): void;
  /** Stops accepting, ends streams, lets requests finish within `graceMs`, then cuts. */
  close(graceMs?: number): Promise<void>;
}

/** As Go's server in kube-apiserver: 32 s for the head of a request, 1 MiB of headers is ours at 64 KiB. */
const limits = {
  headersTimeoutMs: 32_000,
  requestTimeoutMs: 90_000,
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

const broken: HttpResponse = {
  status: 500,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from('This request caused apiserver to panic. Look in the logs for details.\n'),
};

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

export function createHttpServer(options: HttpServerOptions): HttpServer {
  const onError = options.onError ?? (() => {});
  const peers = peerIdentities(options.clock ?? systemClock);
  const streams = new Set<() => void>();
  const sessions = new Map<ServerHttp2Session, SessionUse>();
  const rounds = new Rounds<object>(setImmediate, () => performance.now());
  const sockets = new Set<Socket>();
  const upgraded = new Set<object>();
  let active = 0;
  let idle: (() => void) | undefined;
  let closing = false;
  const started = (): void => void active++;
  const finished = (): void => {
    active--;
    if (active === 0) idle?.();
  };
  const onPull = (end: () => void): (() => void) => {
    if (closing) queueMicrotask(end);
    streams.add(end);
    return () => void streams.delete(end);
  };
  /** Never rejects: what fails is told to `onError`, the client is cut, and the answer's body is closed. */
  const answer = async (
    request: HttpRequest,
    respond: (response: HttpResponse) => void,
    cut: () => void,
  ): Promise<void> => {
    let response = broken;
    try {
      response = await (refusalOf(request) ?? options.handler(request));
    } catch (error) {
      onError(error, 'handler');
    }
    try {
      respond(response);
    } catch (error) {
      discardBody(response.body);
      onError(error, 'respond');
      cut();
    }
  };

  const http1 = createHttp1Server({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    keepAliveTimeout: 90_000,
    maxHeaderSize: limits.maxHeaderBytes,
    noDelay: true,
    // As of a protocol that we do not know: RFC 9110, 7.8. Node would tell of it before its body is there.
    shouldUpgradeCallback: (message) => !hasBody(message),
  });
  http1.maxRequestsPerSocket = 0;
  /** Their last request has been read. */
  const over = new WeakSet<Socket>();
  const readings = new WeakMap<Socket, Http1Reading>();
  const serveHttp1 = (socket: Socket, bytes?: TurnedSocket): void => {
    const connect = (): void => void http1.emit('connection', socket);
    readings.set(socket, new Http1Reading(socket, rounds, connect, { bytes }));
  };
  http1.on('request', (message, out: ServerResponse) => {
    if (over.has(message.socket)) return;
    if (hasFaultyFraming(message) || hasUnknownCoding(message)) over.add(message.socket);
    const request = new Http1Request(message, out, peers);
    const reading = readings.get(message.socket);
    request.waited = reading?.waited ?? false;
    reading?.began(message, out);
    started();
    out.once('close', finished);
    out.on('error', () => {});
    if (closing || over.has(message.socket)) out.setHeader('connection', 'close');
    void answer(
      request,
      (response) => {
        respondHttp1(out, request, response, onPull);
        if (isPullBody(response.body)) reading?.streams();
      },
      () => out.destroy(),
    );
  });
  http1.on('upgrade', (message, socket, first) => {
    const reading = readings.get(message.socket);
    const head = Buffer.concat([first, reading?.leave() ?? Buffer.alloc(0)]);
    if (over.has(message.socket) || hasFaultyFraming(message)) {
      socket.destroy();
      return;
    }
    const request = new Http1Request(message, undefined, peers, { socket, head });
    request.waited = reading?.waited ?? false;
    socket.on('error', () => {});
    upgraded.add(socket);
    socket.once('close', () => void upgraded.delete(socket));
    void answer(
      request,
      (response) => {
        if (response.hijacked !== true) refuseUpgrade(socket, response);
      },
      () => socket.destroy(),
    );
  });
  http1.on('clientError', refuseUnreadable);
  // Node starts its check of slow clients when the server listens; this one is fed by the TLS server.
  http1.emit('listening');

  const http2 = createHttp2Server({
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
  } as Parameters<typeof createHttp2Server>[0] & object);
  let pending: Entered | undefined;
  http2.on('session', (session) => {
    if (pending) sessionSockets.set(session, pending.socket);
    const use = unused(pending);
    pending = undefined;
    session.once('close', () => void sessions.delete(session));
    session.on('error', () => {});
    session.on('frameError', () => {});
    sessions.set(session, use);
    session.on('stream', (stream, headers, _flags, rawHeaders: string[]) =>
      serveStream(stream as ServerHttp2Stream, headers, rawHeaders, use),
    );
    try {
      session.setLocalWindowSize(4 * limits.windowBytes);
    } catch (error) {
      onError(error, 'session');
    }
  });
  http2.on('sessionError', () => {});
  // A timeout of the session would be moved at every frame; this costs nothing while there is traffic.
  const sweep = setInterval(
    () => {
      for (const [session, use] of sessions) if (use.open === 0) closeIdle(session, use);
    },
    (options.idleMs ?? limits.idleMs) / sweepsUntilIdle,
  );
  sweep.unref();
  const serveStream = (
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    use: SessionUse,
  ): void => {
    stream.on('error', ignore);
    if (headers[':method'] === 'CONNECT') {
      stream.respond({ ':status': 501 }, { endStream: true });
      return;
    }
    const request = new Http2Request(stream, headers, rawHeaders, peers);
    started();
    countStream(stream, use, finished);
    const serve = (): void =>
      void answer(
        request,
        (response) => respondHttp2(stream, request, response, onPull),
        () => {
          if (!stream.destroyed) stream.close(constants.NGHTTP2_INTERNAL_ERROR);
        },
      );
    inTurn(rounds, use, request, serve);
  };

  const track = (socket: Socket): void => {
    sockets.add(socket);
    socket.once('close', () => void sockets.delete(socket));
    socket.on('error', () => {});
  };
  const connections = new OpenConnections(options.mostConnections ?? connectionsOf(mostOpenFiles()));
  const tlsDoor =
    options.tls &&
    new TlsDoor({
      tls: options.tls,
      handshakeTimeoutMs: options.handshakeTimeoutMs,
      rounds,
      entered: (socket, bytes) => {
        track(socket);
        if (socket.alpnProtocol === 'h2') {
          pending = { socket, bytes };
          http2.emit('connection', socket);
        } else serveHttp1(socket, bytes);
      },
    });
  const accept = (socket: Socket): void => {
    connections.add(socket);
    // Also those whose handshake is under way: one that is never finished would keep the process that was told to end.
    track(socket);
    if (tlsDoor === undefined) serveHttp1(socket);
    else tlsDoor.accept(socket);
  };
  const doors: TcpServer[] = [];
  const door = (): TcpServer => {
    // TLS says when the other direction ends, too.
    const next = createTcpServer({ allowHalfOpen: tlsDoor !== undefined }, accept);
    next.on('error', (error) => onError(error, 'listener'));
    doors.push(next);
    return next;
  };

  return {
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        const opened = door();
        opened.once('error', reject);
        opened.listen(port, host, () => {
          opened.off('error', reject);
          const address = opened.address() as AddressInfo;
          resolve({ port: address.port, host: address.address });
        });
      }),
    setTls: (tls) => tlsDoor?.setTls(tls),
    async close(graceMs = 10_000) {
      closing = true;
      for (const one of doors) one.close();
      for (const end of [...streams]) end();
      clearInterval(sweep);
      for (const session of sessions.keys()) session.close();
      http1.closeIdleConnections();
      if (active > 0) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, graceMs);
          idle = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      for (const session of [...sessions.keys()]) session.destroy();
      for (const socket of [...sockets]) socket.destroy();
      http1.close();
      http2.close();
    },
  };
}
