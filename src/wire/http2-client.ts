// A small HTTP/2 client of one server: one session, made anew when it dies, many streams.
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
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

export function createHttp2Client(clock: Clock, options: Http2ClientOptions): RenewableHttp2Client {
  let tls: ClientTls = options;
  let current: Promise<ClientHttp2Session> | undefined;
  /** All that are open, with their sockets: also those that still have streams, but get no new ones. */
  const sessions = new Map<ClientHttp2Session, Socket>();
  let closed = false;

  /**
   * A session that was told to go away ends its socket in good order, and waits for a peer that may be gone; one whose
   * socket is not connected yet leaves it alone.
   */
  function destroy(session: ClientHttp2Session, error?: Error): void {
    const socket = sessions.get(session);
    session.destroy(error);
    socket?.destroy();
  }

  function openSocket({ hostname, port, protocol }: URL): Socket {
    const host = hostname.replace(/^\[|\]$/g, '');
    if (protocol === 'http:') return tcpConnect({ host, port: Number(port || 80) });
    const servername = options.serverName ?? (isIP(host) === 0 ? host : undefined);
    return tlsConnect({
      host,
      port: Number(port || 443),
      ALPNProtocols: ['h2'],
      ...(tls.ca ? { ca: tls.ca } : {}),
      ...(tls.cert ? { cert: tls.cert } : {}),
      ...(tls.key ? { key: tls.key } : {}),
      ...(servername === undefined ? {} : { servername }),
      rejectUnauthorized: options.insecureSkipTlsVerify !== true,
    });
  }

  function keepAlive(session: ClientHttp2Session): void {
    const intervalMs = options.pingIntervalMs ?? 15_000;
    let cancel = (): void => {};
    const arm = (): void => {
      cancel = clock.timer(intervalMs, () => {
        if (session.destroyed) return;
        let answered = false;
        session.ping((error) => {
          answered = error === null;
        });
        cancel = clock.timer(intervalMs, () => {
          if (answered) arm();
          else destroy(session, new ConnectionError('ETIMEDOUT', `no answer to a ping for ${intervalMs} ms`));
        });
      });
    };
    arm();
    session.once('close', () => cancel());
  }

  function open(forget: () => void): Promise<ClientHttp2Session> {
    return new Promise((resolve, reject) => {
      const socket = openSocket(new URL(options.origin));
      const session = connect(options.origin, {
        createConnection: () => socket,
        settings: { enablePush: false, initialWindowSize: 1 << 20 },
      });
      sessions.set(session, socket);
      socket.once('close', () => sessions.delete(session));
      const timeoutMs = options.connectTimeoutMs ?? 10_000;
      const stop = clock.timer(timeoutMs, () =>
        destroy(session, new ConnectionError('ETIMEDOUT', `no connection within ${timeoutMs} ms`)),
      );
      session.once('connect', () => {
        stop();
        // Node's own limit would end the session of a busy agent: its streams are long-lived watches.
        session.setLocalWindowSize(8 << 20);
        keepAlive(session);
        resolve(session);
      });
      const over = (): void => {
        stop();
        forget();
      };
      session.on('error', (cause) => {
        over();
        reject(
          new ConnectionError(codeOf(cause), `connecting to ${options.origin}: ${textOf(cause)}`, { cause }),
        );
      });
      session.once('goaway', over);
      session.once('close', () => {
        over();
        reject(new ConnectionError('ECONNRESET', `connecting to ${options.origin}: closed by the server`));
      });
    });
  }

  function session(): Promise<ClientHttp2Session> {
    if (closed) return Promise.reject(new ConnectionError('ECLOSED', 'the client is closed'));
    if (current === undefined) {
      const opened = open(() => {
        if (current === opened) current = undefined;
      });
      current = opened;
      opened.catch(() => {});
    }
    return current;
  }

  function exchange(to: ClientHttp2Session, request: Http2Request): Promise<Http2Response> {
    return new Promise((resolve, reject) => {
      const { signal } = request;
      const stream = to.request(
        { ':method': request.method, ':path': request.path, ...request.headers },
        { endStream: request.body === undefined || request.body.length === 0 },
      );
      const onAbort = (): void => stream.close(constants.NGHTTP2_CANCEL);
      const stop =
        request.timeoutMs !== undefined && request.timeoutMs > 0
          ? clock.timer(request.timeoutMs, () => {
              fail(new ConnectionError('ETIMEDOUT', `no answer within ${request.timeoutMs} ms`));
              stream.close(constants.NGHTTP2_CANCEL);
            })
          : (): void => {};
      const fail = (cause: unknown): void => {
        stop();
        if (signal?.aborted === true) reject(signal.reason);
        else
          reject(
            new ConnectionError(
              codeOf(cause),
              `${request.method} ${options.origin}${request.path}: ${textOf(cause)}`,
              {
                cause,
              },
            ),
          );
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      stream.once('error', fail);
      stream.once('close', () => {
        signal?.removeEventListener('abort', onAbort);
        fail(new ConnectionError('ECONNRESET', 'the stream was closed before an answer'));
      });
      stream.once('response', (headers) => {
        stop();
        const plain: Record<string, string | readonly string[] | undefined> = {};
        for (const [name, value] of Object.entries(headers))
          if (!name.startsWith(':')) plain[name] = typeof value === 'number' ? String(value) : value;
        resolve({ status: Number(headers[':status']), headers: plain, body: bodyOf(stream, signal) });
      });
      if (request.body !== undefined && request.body.length > 0) stream.end(request.body);
    });
  }

  return {
    async request(request) {
      request.signal?.throwIfAborted();
      let to = await session();
      if (to.closed || to.destroyed) {
        current = undefined;
        to = await session();
      }
      request.signal?.throwIfAborted();
      return exchange(to, request);
    },
    setTls(renewed) {
      tls = renewed;
      const old = current;
      current = undefined;
      old?.then(
        (session) => session.close(),
        () => {},
      );
    },
    async close() {
      closed = true;
      current = undefined;
      const ended = [...sessions.values()].map(
        (socket) => new Promise<void>((resolve) => socket.once('close', () => resolve())),
      );
      for (const session of sessions.keys()) destroy(session);
      await Promise.all(ended);
    },
  };
}
