// Whole questions to HTTPS servers of others: connections are kept for the next one, and all that a server says is bounded.
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { hostPort } from '../base/ip.ts';
import { Places } from '../base/turns.ts';
import { type HttpsTarget, KeptConnections } from './kept-connections.ts';

export type { HttpsTarget } from './kept-connections.ts';

export interface HttpsQuestion {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** A text is written together with the headers. */
  readonly body: Buffer | string;
  /** Ends the wait, for a place as well as for the answer. */
  readonly signal: AbortSignal;
}

export interface HttpsAnswer {
  readonly status: number;
  readonly contentType: string;
  /** '' when it has none. */
  readonly etag: string;
  readonly body: Buffer;
}

/** No answer; the message is what Go's net/http says of it. */
export class NoAnswerError extends Error {}

export interface HttpsClientOptions {
  readonly maxAnswerBytes: number;
  /** Connections of one server; who comes later waits. */
  readonly maxConnections: number;
  readonly maxAllConnections: number;
}

const untrusted: readonly string[] = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
];
const dialled: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ETIMEDOUT: 'connect: connection timed out',
};

/** Why a server could not be asked, in Go's words. */
export function whyNoAnswer(cause: unknown, { host, port, serverName = host }: HttpsTarget): string {
  const { code = '', message } = cause as { code?: string; message: string };
  const verifying = 'tls: failed to verify certificate: x509: ';
  if (dialled[code] !== undefined) return `dial tcp ${hostPort(host, port)}: ${dialled[code]}`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: no such host`;
  if (code === 'ECONNRESET') return 'EOF';
  if (untrusted.includes(code)) return `${verifying}certificate signed by unknown authority`;
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `${verifying}certificate has expired or is not yet valid`;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `${verifying}certificate is not valid for ${serverName}`;
  if (message.includes('wrong version number') || message.includes('packet length too long'))
    return 'http: server gave HTTP response to HTTPS client';
  return message;
}

const isUnclean = /[^\u0021-\u00ff]/;

/** Head and body as they are sent. Throws where a header or the path would be more than one. */
function written(target: HttpsTarget, { method, path, headers, body }: HttpsQuestion): Buffer | string {
  if (isUnclean.test(path)) throw new TypeError('Request path contains unescaped characters');
  let head = `${method} ${path} HTTP/1.1\r\n`;
  // As of a URL: the usual port is not said.
  const all = { host: hostPort(target.host, target.port).replace(/:443$/, ''), ...headers };
  for (const [name, value] of Object.entries(all))
    for (const one of typeof value === 'string' ? [value] : value) {
      validateHeaderName(name);
      validateHeaderValue(name, one);
      head += `${name}: ${one}\r\n`;
    }
  head += `content-length: ${Buffer.byteLength(body)}\r\n\r\n`;
  return typeof body === 'string' ? head + body : Buffer.concat([Buffer.from(head, 'latin1'), body]);
}

export class HttpsClient {
  readonly #connections: KeptConnections;
  readonly #maxConnections: number;
  readonly #all: Places;
  /** Of a server that is asked now. */
  readonly #ofServer = new Map<string, Places>();
  #isClosed = false;

  constructor({ maxAnswerBytes, maxConnections, maxAllConnections }: HttpsClientOptions) {
    this.#maxConnections = maxConnections;
    this.#all = new Places(maxAllConnections);
    this.#connections = new KeptConnections(maxAllConnections, maxAnswerBytes);
  }

  /** Redirects are answers like others: nobody is sent elsewhere. Throws NoAnswerError, or the signal's reason. */
  async ask(target: HttpsTarget, question: HttpsQuestion): Promise<HttpsAnswer> {
    try {
      return await this.#inItsPlace(target, question);
    } catch (error) {
      if (question.signal.aborted) throw question.signal.reason;
      if (this.#isClosed) throw new NoAnswerError('http: the client is closed', { cause: error });
      throw error instanceof NoAnswerError
        ? error
        : new NoAnswerError(whyNoAnswer(error, target), { cause: error });
    }
  }

  /** A server's own place comes first: those who wait for a slow one hold no place of all. */
  async #inItsPlace(target: HttpsTarget, question: HttpsQuestion): Promise<HttpsAnswer> {
    const server = hostPort(target.host, target.port);
    const places = this.#ofServer.get(server) ?? new Places(this.#maxConnections);
    this.#ofServer.set(server, places);
    try {
      const leaveServer = await places.take(question.signal);
      try {
        const leave = await this.#all.take(question.signal);
        try {
          return await this.#once(target, question, true);
        } finally {
          leave();
        }
      } finally {
        leaveServer();
      }
    } finally {
      if (places.isIdle && this.#ofServer.get(server) === places) this.#ofServer.delete(server);
    }
  }

  async #once(target: HttpsTarget, question: HttpsQuestion, again: boolean): Promise<HttpsAnswer> {
    const { signal } = question;
    signal.throwIfAborted();
    if (this.#isClosed) throw new Error('closed');
    const bytes = written(target, question);
    const { connection, giveBack } = this.#connections.take(target);
    const leave = (): void => connection.destroy(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    try {
      const { status, header, body } = await connection.ask(bytes);
      return { status, contentType: header('content-type'), etag: header('etag'), body };
    } catch (error) {
      // Its server ended the kept connection while the question was on its way.
      const { code = '' } = error as NodeJS.ErrnoException;
      const isLost = connection.mayHaveMissed && ['ECONNRESET', 'EPIPE'].includes(code);
      if (!again || !isLost || signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', leave);
      giveBack();
    }
    return this.#once(target, question, false);
  }

  /** What is under way gets its answer, and then no connection is left. */
  release(): void {
    this.#connections.keepNone();
  }

  /** What is under way is cut, and who waits for a place asks nobody any more: a server that hangs must not hold up whoever stops. */
  close(): void {
    this.#isClosed = true;
    this.#connections.destroy();
  }
}
