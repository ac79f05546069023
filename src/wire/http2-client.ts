// A small HTTP/2 client of one server: many streams on one session, on more where that has no room, and on a new one when it dies.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import { isIP, type Socket, connect as tcpConnect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import type { Clock } from '../base/clock.ts';

export interface ClientTls {
  readonly ca?: Buffer | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
}

export interface Http2ClientOptions extends ClientTls {
  /** `https://10.0.0.1:6443`. */
  readonly origin: string;
  readonly insecureSkipTlsVerify?: boolean | undefined;
  /** Name in the server's certificate, when it is not the host of the origin. */
  readonly serverName?: string | undefined;
  /** A silent session is probed after this long, and closed when the answer stays out as long. Default 15 s. */
  readonly pingIntervalMs?: number | undefined;
  /** Default 10 s. */
  readonly connectTimeoutMs?: number | undefined;
}

export interface Http2Request {
  readonly method: string;
  /** Path with query: `/api/v1/pods?limit=5`. */
  readonly path: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Until the response's headers; a stream may then last. 0: no limit. */
  readonly timeoutMs?: number | undefined;
}

export interface Http2Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Ends early, without an error, when the request's signal is aborted. */
  readonly body: AsyncIterable<Buffer>;
}

export interface Http2Client {
  request(request: Http2Request): Promise<Http2Response>;
  close(): Promise<void>;
}

export interface RenewableHttp2Client extends Http2Client {
  /** New requests go by a new connection with these; what is under way on the old one ends in peace. */
  setTls(tls: ClientTls): void;
}

/** The exchange failed below HTTP: nobody listens, the certificate is wrong, the connection broke, time ran out. */
export class ConnectionError extends Error {
  readonly code: string;
  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectionError';
    this.code = code;
  }
}

const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : 'ECONNECTION';
const textOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));

/** node ends a stream of a broken session with an error or with a bare close; either way the reader is told. */
async function* bodyOf(
  stream: ClientHttp2Stream,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void> {
  try {
    for await (const chunk of stream) yield chunk as Buffer;
    if (stream.rstCode !== constants.NGHTTP2_NO_ERROR && signal?.aborted !== true)
      throw new ConnectionError('ESTREAM', `stream was reset by the server with code ${stream.rstCode}`);
  } catch (cause) {
    if (signal?.aborted === true) return;
    if (cause instanceof ConnectionError) throw cause;
    throw new ConnectionError(codeOf(cause), `reading the response: ${textOf(cause)}`, { cause });
  } finally {
    if (!stream.destroyed) stream.close(constants.NGHTTP2_CANCEL);
  }
}

/** The part of a request that is done when its headers are there: the stream may then last. */
function exchange(
  clock: Clock,
  origin: string,
  stream: ClientHttp2Stream,
  request: Http2Request,
): Promise<Http2Response> {
  return new Promise((resolve, reject) => {
    const { signal, timeoutMs = 0, body } = request;
    const onAbort = (): void => stream.close(constants.NGHTTP2_CANCEL);
    const late = (): void => {
      fail(new ConnectionError('ETIMEDOUT', `no answer within ${timeoutMs} ms`));
      stream.close(constants.NGHTTP2_CANCEL);
    };
    const stop = timeoutMs > 0 ? clock.timer(timeoutMs, late) : (): void => {};
    const fail = (cause: unknown): void => {
      stop();
      const what = `${request.method} ${origin}${request.path}: ${textOf(cause)}`;
      reject(signal?.aborted === true ? signal.reason : new ConnectionError(codeOf(cause), what, { cause }));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    stream.once('error', fail);
    stream.once('close', () => {
      signal?.removeEventListener('abort', onAbort);
      fail(new ConnectionError('ECONNRESET', 'the stream was closed before an answer'));
    });
    stream.once('response', (headers) => {
      stop();
      resolve({
        status: Number(headers[':status']),
        headers: plainHeaders(headers),
        body: bodyOf(stream, signal),
      });
    });
    if (hasBody(request)) stream.end(body);
  });
}

const hasBody = ({ body }: Http2Request): boolean => body !== undefined && body.length > 0;

function plainHeaders(headers: IncomingHttpHeaders): Http2Response['headers'] {
  const plain: Record<string, string | readonly string[] | undefined> = {};
  for (const [name, value] of Object.entries(headers))
    if (!name.startsWith(':')) plain[name] = typeof value === 'number' ? String(value) : value;
  return plain;
}

interface Session {
  readonly http2: ClientHttp2Session;
  readonly socket: Socket;
  /** Given out, and not yet closed. */
  streams: number;
}

/**
 * What its server lets a session have: a stream beyond it would wait for the end of another, and watches never end. The
 * first one is begun whatever the server says.
 */
const hasRoom = ({ http2, streams }: Session): boolean =>
  streams < Math.max(1, http2.remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY);

const isGone = ({ http2 }: Session): boolean => http2.closed || http2.destroyed;

/** A server that lets go of session after session, each before its first stream, gets no more of them for one request. */
const mostGone = 3;

class SessionClient implements RenewableHttp2Client {
  readonly #clock: Clock;
  readonly #options: Http2ClientOptions;
  #tls: ClientTls;
  /** Being connected, for all that find no room elsewhere. */
  #opening: Promise<Session> | undefined;
  /** Those that get new streams. */
  readonly #usable = new Set<Session>();
  /** All that are open, also those that still have streams, but get no new ones. */
  readonly #sessions = new Set<Session>();
  #isClosed = false;

  constructor(clock: Clock, options: Http2ClientOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#tls = options;
  }

  async request(request: Http2Request): Promise<Http2Response> {
    const { origin } = this.#options;
    request.signal?.throwIfAborted();
    for (let gone = 0; ; ) {
      const session = this.#roomy() ?? (await this.#opened());
      request.signal?.throwIfAborted();
      if (isGone(session)) {
        if (++gone === mostGone) throw new ConnectionError('ECONNRESET', `${origin} closes each connection`);
      } else if (hasRoom(session)) {
        // At once: what becomes of a stream is told to whoever listens by then.
        return exchange(this.#clock, origin, beginStream(session, request), request);
      }
    }
  }

  setTls(renewed: ClientTls): void {
    this.#tls = renewed;
    for (const { http2 } of this.#usable) http2.close();
    this.#usable.clear();
    this.#opening?.then(
      ({ http2 }) => http2.close(),
      () => {},
    );
    this.#opening = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#usable.clear();
    const ended = [...this.#sessions].map(
      ({ socket }) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    for (const session of this.#sessions) destroy(session);
    await Promise.all(ended);
  }

  #roomy(): Session | undefined {
    for (const session of this.#usable) if (!isGone(session) && hasRoom(session)) return session;
    return undefined;
  }

  #opened(): Promise<Session> {
    if (this.#isClosed) return Promise.reject(new ConnectionError('ECLOSED', 'the client is closed'));
    if (this.#opening !== undefined) return this.#opening;
    const opening = this.#open();
    const done = (): void => {
      if (this.#opening === opening) this.#opening = undefined;
    };
    opening.then((session) => {
      if (this.#opening === opening) this.#usable.add(session);
      done();
    }, done);
    this.#opening = opening;
    return opening;
  }

  #open(): Promise<Session> {
    const { origin, connectTimeoutMs: timeoutMs = 10_000 } = this.#options;
    return new Promise((resolve, reject) => {
      const socket = this.#openSocket(new URL(origin));
      const http2 = connect(origin, {
        createConnection: () => socket,
        settings: { enablePush: false, initialWindowSize: 1 << 20 },
      });
      const session: Session = { http2, socket, streams: 0 };
      this.#sessions.add(session);
      socket.once('close', () => this.#sessions.delete(session));
      const stop = this.#clock.timer(timeoutMs, () =>
        destroy(session, new ConnectionError('ETIMEDOUT', `no connection within ${timeoutMs} ms`)),
      );
      // The first thing that a server says: how many streams it takes.
      http2.once('remoteSettings', () => {
        stop();
        // Node's own limit would end the session of a busy agent: its streams are long-lived watches.
        http2.setLocalWindowSize(8 << 20);
        this.#keepAlive(session);
        resolve(session);
      });
      const over = (): void => {
        stop();
        this.#usable.delete(session);
      };
      http2.on('error', (cause) => {
        over();
        reject(new ConnectionError(codeOf(cause), `connecting to ${origin}: ${textOf(cause)}`, { cause }));
      });
      http2.once('goaway', over);
      http2.once('close', () => {
        over();
        reject(new ConnectionError('ECONNRESET', `connecting to ${origin}: closed by the server`));
      });
    });
  }

  #openSocket({ hostname, port, protocol }: URL): Socket {
    const host = hostname.replace(/^\[|\]$/g, '');
    if (protocol === 'http:') return tcpConnect({ host, port: Number(port || 80) });
    const { ca, cert, key } = this.#tls;
    const servername = this.#options.serverName ?? (isIP(host) === 0 ? host : undefined);
    return tlsConnect({
      host,
      port: Number(port || 443),
      ALPNProtocols: ['h2'],
      ...(ca ? { ca } : {}),
      ...(cert ? { cert } : {}),
      ...(key ? { key } : {}),
      ...(servername === undefined ? {} : { servername }),
      rejectUnauthorized: this.#options.insecureSkipTlsVerify !== true,
    });
  }

  #keepAlive(session: Session): void {
    const { http2 } = session;
    const intervalMs = this.#options.pingIntervalMs ?? 15_000;
    let cancel = (): void => {};
    const arm = (): void => {
      cancel = this.#clock.timer(intervalMs, () => {
        if (http2.destroyed) return;
        let answered = false;
        http2.ping((error) => {
          answered = error === null;
        });
        cancel = this.#clock.timer(intervalMs, () => {
          if (answered) arm();
          else destroy(session, new ConnectionError('ETIMEDOUT', `no answer to a ping for ${intervalMs} ms`));
        });
      });
    };
    arm();
    http2.once('close', () => cancel());
  }
}

function beginStream(session: Session, request: Http2Request): ClientHttp2Stream {
  const head = { ':method': request.method, ':path': request.path, ...request.headers };
  const stream = session.http2.request(head, { endStream: !hasBody(request) });
  session.streams++;
  stream.once('close', () => {
    session.streams--;
  });
  return stream;
}

/**
 * A session that was told to go away ends its socket in good order, and waits for a peer that may be gone; one whose
 * socket is not connected yet leaves it alone.
 */
function destroy({ http2, socket }: Session, error?: Error): void {
  http2.destroy(error);
  socket.destroy();
}

export const createHttp2Client = (clock: Clock, options: Http2ClientOptions): RenewableHttp2Client =>
  new SessionClient(clock, options);
