// A request and its answer as values: the same for HTTP/2, HTTP/1.1 and the in-process client.
import type { Duplex } from 'node:stream';
import type { UserInfo } from './authentication/user-info.ts';

export interface ApiRequest {
  readonly method: string;
  /** Path with query, as sent: `/api/v1/pods?limit=5`. Not decoded. */
  readonly url: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Reads the whole body; throws StatusError 413 past `limit` bytes. */
  readBody(limit: number): Promise<Buffer>;
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal;
  readonly remoteAddress: string;
  /** DER of the client's verified certificate, if it sent one. */
  readonly clientCertificate?:
    | {
        readonly raw: Buffer;
        readonly fingerprint: string;
        readonly subject: { readonly CN?: string | undefined; readonly O: readonly string[] };
      }
    | undefined;
  /** Set by the in-process transport: authentication is already done. */
  readonly user?: UserInfo | undefined;
  /** The raw connection of an HTTP/1.1 upgrade or an HTTP/2 extended CONNECT. */
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer } | undefined;
}

/** Streams by pull: the writer asks for more when its socket is writable, so a slow client holds no queue. */
export interface PullBody {
  /** Next bytes that are ready; undefined when there are none now; null at the end. */
  pull(maxBytes: number): Buffer | undefined | null;
  /** Calls back when `pull` has something again. One callback at a time. */
  onReady(callback: () => void): void;
  /** The client went away. */
  close(): void;
}

export type ApiBody = Buffer | readonly Buffer[] | PullBody | undefined;

export interface ApiResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: ApiBody;
  /** Set when the handler has taken over `request.upgrade.socket`. */
  readonly hijacked?: true;
}

export type Handler = (request: ApiRequest) => Promise<ApiResponse>;
export const isPullBody = (body: ApiBody): body is PullBody =>
  body !== undefined && !Array.isArray(body) && !Buffer.isBuffer(body);
