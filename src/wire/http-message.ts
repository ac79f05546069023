// A request and its answer as values: the same for HTTP/2, HTTP/1.1 and a caller in the same process.
import type { Duplex } from 'node:stream';

export type HttpHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a client proved of itself with a certificate. */
export interface ClientCertificate {
  readonly raw: Buffer;
  /** SHA-256, as Node prints it. */
  readonly fingerprint: string;
  readonly subject: {
    readonly CN?: string | undefined;
    readonly O: readonly string[];
    readonly uids?: readonly string[];
  };
  /** Milliseconds since the epoch. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface HttpRequest {
  readonly method: string;
  /** Path with query, as sent: `/api/v1/pods?limit=5`. Not decoded. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: HttpHeaders;
  /** Names and values in turn, as sent: where one header with a comma is not two headers. */
  readonly rawHeaders?: readonly string[] | undefined;
  /** Reads the whole body; throws BodyTooLargeError past `limit` bytes. */
  readBody(limit: number): Promise<Buffer>;
  /** Instead of readBody, once: the body as it comes, of any length; undefined: it has none. */
  streamBody?(): PullBody | undefined;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  /** What it is answered before anybody looks at it: nobody could read it as it was meant. */
  readonly refusal?: HttpResponse | undefined;
  /** It had to wait for its connection's turn: others wait, too. */
  readonly waited?: boolean | undefined;
  /** The client's certificate, when it sent one that the client CA vouches for. */
  readonly clientCertificate?: ClientCertificate | undefined;
  /** Why the certificate that was sent is not believed. */
  readonly clientCertificateError?: string | undefined;
  /** The raw connection of an HTTP/1.1 upgrade. */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer } | undefined;
}

/** Streams by pull: the writer asks for more when its socket is writable, so a slow client holds no queue. */
export interface PullBody {
  /** Next bytes that are ready; undefined when there are none now; null at the end. Throws when the rest can't be had. */
  pull(maxBytes: number): Buffer | undefined | null;
  /** Calls back when `pull` has something again. One callback at a time. */
  onReady(callback: () => void): void;
  /** Frees what the body holds. Whoever has the answer calls it, once or more, whether the body was read or not. */
  close(): void;
  /** How long the client may take nothing of what is ready, before it is cut. Forever when not said. */
  readonly stallMs?: number | undefined;
  /** Of a stream that goes on: when what it had to say at once has been pulled, or it was closed. */
  readonly initialized?: Promise<void> | undefined;
}

export type HttpBody = Buffer | readonly Buffer[] | PullBody | undefined;

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: HttpBody;
  /** Set when the handler has taken over `request.upgrade.socket`. */
  readonly hijacked?: true;
}

export const isPullBody = (body: HttpBody): body is PullBody =>
  body !== undefined && !Array.isArray(body) && !Buffer.isBuffer(body);

/** For an answer that nobody gets. */
export function discardBody(body: HttpBody): void {
  if (isPullBody(body)) body.close();
}

/** The body is longer than the reader allows. */
export class BodyTooLargeError extends Error {
  readonly limit: number;
  constructor(limit: number) {
    super(`Request entity too large: limit is ${limit}`);
    this.name = 'BodyTooLargeError';
    this.limit = limit;
  }
}
