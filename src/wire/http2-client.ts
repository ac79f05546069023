// A small HTTP/2 client of one server: one session, made anew when it dies, many streams.
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
  to: ClientHttp2Session,
  request: Http2Request,
): Promise<Http2Response> {
  return new Promise((resolve, reject) => {
    const { signal, timeoutMs = 0, body } = request;
    const hasBody = body !== undefined && body.length > 0;
    const stream = to.request(
      { ':method': request.method, ':path': request.path, ...request.headers },
      { endStream: !hasBody },
    );
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
    if (hasBody) stream.end(body);
  });
}

function plainHeaders(headers: IncomingHttpHeaders): Http2Response['headers'] {
  const plain: Record<string, string | readonly string[] | undefined> = {};
  for (const [name, value] of Object.entries(headers))
    if (!name.startsWith(':')) plain[name] = typeof value === 'number' ? String(value) : value;
  return plain;
}

class SessionClient implements RenewableHttp2Client {
  readonly #clock: Clock;
  readonly #options: Http2ClientOptions;
  #tls: ClientTls;
  #current: Promise<ClientHttp2Session> | undefined;
  /** All that are open, with their sockets: also those that still have streams, but get no new ones. */
  readonly #sessions = new Map<ClientHttp2Session, Socket>();
  #isClosed = false;

  constructor(clock: Clock, options: Http2ClientOptions) {
    this.#clock = clock;
    this.#options = options;
    this.#tls = options;
  }

  async request(request: Http2Request): Promise<Http2Response> {
    request.signal?.throwIfAborted();
    let to = await this.#session();
    if (to.closed || to.destroyed) {
      this.#current = undefined;
      to = await this.#session();
    }
    request.signal?.throwIfAborted();
    return exchange(this.#clock, this.#options.origin, to, request);
  }

  setTls(renewed: ClientTls): void {
    this.#tls = renewed;
    const old = this.#current;
    this.#current = undefined;
    old?.then(
      (session) => session.close(),
      () => {},
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#current = undefined;
    const ended = [...this.#sessions.values()].map(
      (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
    );
    for (const session of this.#sessions.keys()) this.#destroy(session);
    await Promise.all(ended);
  }

  #session(): Promise<ClientHttp2Session> {
    if (this.#isClosed) return Promise.reject(new ConnectionError('ECLOSED', 'the client is closed'));
    if (this.#current === undefined) {
      const opened = this.#open(() => {
        if (this.#current === opened) this.#current = undefined;
      });
      this.#current = opened;
      opened.catch(() => {});
    }
    return this.#current;
  }

  #open(forget: () => void): Promise<ClientHttp2Session> {
    const { origin, connectTimeoutMs: timeoutMs = 10_000 } = this.#options;
    return new Promise((resolve, reject) => {
      const socket = this.#openSocket(new URL(origin));
      const session = connect(origin, {
        createConnection: () => socket,
        settings: { enablePush: false, initialWindowSize: 1 << 20 },
      });
      this.#sessions.set(session, socket);
      socket.once('close', () => this.#sessions.delete(session));
      const stop = this.#clock.timer(timeoutMs, () =>
        this.#destroy(session, new ConnectionError('ETIMEDOUT', `no connection within ${timeoutMs} ms`)),
      );
      session.once('connect', () => {
        stop();
        // Node's own limit would end the session of a busy agent: its streams are long-lived watches.
        session.setLocalWindowSize(8 << 20);
        this.#keepAlive(session);
        resolve(session);
      });
      const over = (): void => {
        stop();
        forget();
      };
      session.on('error', (cause) => {
        over();
        reject(new ConnectionError(codeOf(cause), `connecting to ${origin}: ${textOf(cause)}`, { cause }));
      });
      session.once('goaway', over);
      session.once('close', () => {
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

  #keepAlive(session: ClientHttp2Session): void {
    const intervalMs = this.#options.pingIntervalMs ?? 15_000;
    let cancel = (): void => {};
    const arm = (): void => {
      cancel = this.#clock.timer(intervalMs, () => {
        if (session.destroyed) return;
        let answered = false;
        session.ping((error) => {
          answered = error === null;
        });
        cancel = this.#clock.timer(intervalMs, () => {
          if (answered) arm();
          else
            this.#destroy(
              session,
              new ConnectionError('ETIMEDOUT', `no answer to a ping for ${intervalMs} ms`),
            );
        });
      });
    };
    arm();
    session.once('close', () => cancel());
  }

  /**
   * A session that was told to go away ends its socket in good order, and waits for a peer that may be gone; one whose
   * socket is not connected yet leaves it alone.
   */
  #destroy(session: ClientHttp2Session, error?: Error): void {
    const socket = this.#sessions.get(session);
    session.destroy(error);
    socket?.destroy();
  }
}

export const createHttp2Client = (clock: Clock, options: Http2ClientOptions): RenewableHttp2Client =>
  new SessionClient(clock, options);
