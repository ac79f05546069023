// Requests to other servers by the protocol that each offers: HTTP/2, side by side on few connections, or HTTP/1.1.
import { connect, type TLSSocket } from 'node:tls';
import { hostPort } from '../base/ip.ts';
import { BackendError, type BackendRequest, type BackendTarget } from './backend.ts';
import { type HttpResponse, isPullBody } from './http-message.ts';
import { Http2Backend, StreamFailure } from './http2-backend.ts';

/** A server is asked again what it speaks: it may be another one. */
const knownMs = 5 * 60_000;
const maxKnown = 256;
const connectMs = 30_000;
const answerWithinMs = 30_000;
/** As Go's transport: at once, and then after 1, 2, 4, 8 and 16 seconds. */
const mostAttempts = 7;
/** A server that lets go of connection after connection gets no more of them for one request. */
const mostGone = 3;

type SecureTarget = BackendTarget & { readonly tls: NonNullable<BackendTarget['tls']> };

const keyOf = ({ host, port, tls }: SecureTarget): string =>
  `${host} ${port} ${tls.servername} ${tls.verify} ${tls.ca}\n${tls.cert}\n${tls.key}`;

function dial({ host, port, tls }: SecureTarget, signal: AbortSignal): Promise<TLSSocket> {
  const { ca, cert, key, verify, servername } = tls;
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      rejectUnauthorized: verify,
      ALPNProtocols: ['h2', 'http/1.1'],
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(servername === undefined ? {} : { servername }),
    });
    const leave = (): void => void socket.destroy(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    const over = (): void => signal.removeEventListener('abort', leave);
    socket.once('error', (error) => {
      over();
      reject(error);
    });
    socket.once('close', () => {
      over();
      reject(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
    });
    socket.once('secureConnect', () => {
      over();
      resolve(socket);
    });
  });
}

const waited = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener('abort', done, { once: true });
  });

/** A connection that is waited for no longer is opened all the same: others may want it. */
async function waitedFor<T>(opened: Promise<T>, ms: number, signal: AbortSignal | undefined): Promise<T> {
  const over = new AbortController();
  const late = waited(ms, signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])).then(
    () => {
      throw signal?.aborted === true ? signal.reason : new Error('no answer in time');
    },
  );
  try {
    return await Promise.race([opened, late]);
  } finally {
    late.catch(() => undefined);
    over.abort();
  }
}

/** What is sent only once: nobody could send a body again that has been taken from its reader. */
const isRepeatable = ({ body }: BackendRequest): boolean => body === undefined || Buffer.isBuffer(body);

export class SpokenProtocols {
  readonly #sessions = new Map<string, Set<Http2Backend>>();
  readonly #opening = new Map<string, Promise<Http2Backend | undefined>>();
  /** Those of HTTP/1.1, and until when that is believed. */
  readonly #http1 = new Map<string, number>();
  readonly #closing = new AbortController();

  /** undefined: it speaks HTTP/1.1. Throws BackendError. */
  async request(target: BackendTarget, request: BackendRequest): Promise<HttpResponse | undefined> {
    if (target.tls === undefined) return undefined;
    const secure = target as SecureTarget;
    const { signal, answerWithinMs: withinMs = answerWithinMs } = request;
    const until = performance.now() + withinMs;
    for (let attempt = 0; ; attempt++) {
      try {
        const session = await waitedFor(this.#sessionOf(secure), until - performance.now(), signal);
        // A signal says only once that nobody waits any more: what is begun afterwards would never be given up.
        signal?.throwIfAborted();
        return await session?.request(request, Math.max(1, until - performance.now()));
      } catch (error) {
        const pauseMs = attempt === 0 ? 0 : 500 * 2 ** attempt;
        const isOver = attempt + 1 >= mostAttempts || performance.now() + pauseMs >= until;
        const isLost = !(error instanceof StreamFailure && error.unseen && isRepeatable(request));
        if (isLost || isOver || signal?.aborted === true) {
          // Nobody has taken it, or not all of it.
          if (isPullBody(request.body)) request.body.close();
          throw backendError(error);
        }
        if (pauseMs > 0) await waited(pauseMs, signal);
      }
    }
  }

  close(): void {
    this.#closing.abort(new Error('the server ends'));
    for (const sessions of this.#sessions.values()) for (const one of sessions) one.destroy();
  }

  /** undefined: there is none, and none is needed. */
  async #sessionOf(target: SecureTarget): Promise<Http2Backend | undefined> {
    const key = keyOf(target);
    for (let gone = 0; gone < mostGone; ) {
      for (const one of this.#sessions.get(key) ?? []) if (one.hasRoom) return one;
      if ((this.#http1.get(key) ?? 0) > performance.now()) return undefined;
      const opened = await this.#opened(key, target);
      if (opened === undefined) return undefined;
      if (!opened.isUsable) gone++;
    }
    throw new Error('http2: server sent GOAWAY and closed the connection');
  }

  /** One at a time: those who come meanwhile find room on it. */
  #opened(key: string, target: SecureTarget): Promise<Http2Backend | undefined> {
    let opening = this.#opening.get(key);
    if (opening === undefined) {
      opening = this.#open(key, target).finally(() => this.#opening.delete(key));
      this.#opening.set(key, opening);
    }
    return opening;
  }

  async #open(key: string, target: SecureTarget): Promise<Http2Backend | undefined> {
    this.#http1.delete(key);
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(Object.assign(new Error('i/o timeout'), { code: 'ETIMEDOUT' })),
      connectMs,
    );
    try {
      const socket = await dial(target, AbortSignal.any([late.signal, this.#closing.signal]));
      if (socket.alpnProtocol === 'h2') return this.#keep(key, socket, target);
      socket.destroy();
      if (this.#http1.size >= maxKnown) this.#http1.clear();
      this.#http1.set(key, performance.now() + knownMs);
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  #keep(key: string, socket: TLSSocket, { host, port }: SecureTarget): Http2Backend {
    const sessions = this.#sessions.get(key) ?? new Set<Http2Backend>();
    this.#sessions.set(key, sessions);
    const session = new Http2Backend(socket, hostPort(host, port), () => {
      sessions.delete(session);
      if (sessions.size === 0 && this.#sessions.get(key) === sessions) this.#sessions.delete(key);
    });
    sessions.add(session);
    return session;
  }
}

const backendError = (error: unknown): BackendError =>
  new BackendError((error as Error).message, { cause: error });
