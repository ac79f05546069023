// Whole questions to HTTPS servers of others: connections are kept for the next one, and all that a server says is bounded.
import type { IncomingMessage } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { hostPort } from '../base/ip.ts';
import { Places } from '../base/turns.ts';
import { boundHead } from './answer-head.ts';
import { KeptConnections } from './kept-connections.ts';
import { machineAuthorities } from './machine-authorities.ts';

export interface HttpsTarget {
  /** A name or an address; who is dialled. */
  readonly host: string;
  readonly port: number;
  /** Whom the certificate must name. Default: the host. */
  readonly serverName?: string | undefined;
  /** PEM. Default: whom the machine trusts. */
  readonly ca?: string | undefined;
  /** Default true. False: whoever answers is believed. */
  readonly verify?: boolean | undefined;
  /** PEM: who asks. */
  readonly client?: { readonly certificate: string; readonly key: string } | undefined;
}

export interface HttpsQuestion {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
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

const maxHeaderBytes = 1 << 16;

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

/** By events: an iterator over a stream costs more than all else that is done to so short an answer. */
function wholeAnswer(response: IncomingMessage, limit: number): Promise<HttpsAnswer> {
  return new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    response.on('data', (part: Buffer) => {
      size += part.length;
      if (size <= limit) parts.push(part);
      else reject(new NoAnswerError(`http: response body too large: the limit is ${limit} bytes`));
    });
    response.once('error', reject);
    response.once('close', () => {
      if (!response.readableEnded) reject(Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
    });
    response.once('end', () => {
      const { 'content-type': contentType = '', etag = '' } = response.headers;
      const body = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      resolve({ status: response.statusCode ?? 0, contentType, etag, body });
    });
  });
}

export class HttpsClient {
  readonly #agent: KeptConnections;
  readonly #maxAnswerBytes: number;
  readonly #maxConnections: number;
  readonly #all: Places;
  /** Of a server that is asked now. */
  readonly #ofServer = new Map<string, Places>();

  constructor({ maxAnswerBytes, maxConnections, maxAllConnections }: HttpsClientOptions) {
    this.#maxAnswerBytes = maxAnswerBytes;
    this.#maxConnections = maxConnections;
    this.#all = new Places(maxAllConnections);
    this.#agent = new KeptConnections(maxAllConnections);
  }

  /** Redirects are answers like others: nobody is sent elsewhere. Throws NoAnswerError, or the signal's reason. */
  async ask(target: HttpsTarget, question: HttpsQuestion): Promise<HttpsAnswer> {
    try {
      return await this.#inItsPlace(target, question);
    } catch (error) {
      if (question.signal.aborted) throw question.signal.reason;
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

  #once(target: HttpsTarget, question: HttpsQuestion, again: boolean): Promise<HttpsAnswer> {
    const { signal } = question;
    let leave = (): void => {};
    const answer = new Promise<HttpsAnswer>((resolve, reject) => {
      signal.throwIfAborted();
      const outgoing = request(this.#optionsOf(target, question));
      // Node tells nothing of a request that ends while it waits for a connection.
      leave = () => {
        reject(signal.reason);
        outgoing.destroy(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      boundHead(outgoing, maxHeaderBytes);
      let answering = false;
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        // Its server ended the kept connection while the question was on its way.
        if (
          again &&
          !answering &&
          !signal.aborted &&
          outgoing.reusedSocket &&
          ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')
        )
          resolve(this.#once(target, question, false));
        else reject(error);
      });
      outgoing.on('upgrade', (response, socket) => {
        socket.destroy();
        reject(new NoAnswerError(`unexpected status code ${response.statusCode}`));
      });
      outgoing.on('response', (response) => {
        answering = true;
        wholeAnswer(response, this.#maxAnswerBytes).then(resolve, (error: unknown) => {
          outgoing.destroy();
          reject(error);
        });
      });
      outgoing.end(question.body);
    });
    return answer.finally(() => signal.removeEventListener('abort', leave));
  }

  #optionsOf(target: HttpsTarget, { method, path, headers, body }: HttpsQuestion): RequestOptions {
    const { host, port, serverName, ca, client, verify = true } = target;
    const trusted = ca ?? machineAuthorities();
    return {
      agent: this.#agent,
      host,
      port,
      method,
      path,
      headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
      maxHeaderSize: maxHeaderBytes,
      ...(serverName === undefined ? {} : { servername: serverName }),
      rejectUnauthorized: verify,
      ...(trusted === undefined ? {} : { ca: trusted }),
      ...(client === undefined ? {} : { cert: client.certificate, key: client.key }),
    };
  }

  close(): void {
    this.#agent.destroy();
  }
}
