// Requests and upgrades to another HTTP/1.1 server (a kubelet, a pod): the API server's side of every proxied call.
import * as http from 'node:http';
import * as https from 'node:https';
import type { Duplex } from 'node:stream';
import { boundHead } from './answer-head.ts';
import { writePull } from './body-writer.ts';
import { type HttpResponse, isPullBody, type PullBody } from './http-message.ts';
import { StreamBody } from './stream-body.ts';
import { withoutToken } from './websocket-token.ts';

export interface BackendTarget {
  readonly host: string;
  readonly port: number;
  /** undefined: plain HTTP. */
  readonly tls?:
    | {
        readonly ca?: string | Buffer | string[] | undefined;
        readonly cert?: string | Buffer | undefined;
        readonly key?: string | Buffer | undefined;
        /** False only where the peer has no certificate that anyone could check (a pod's own server). */
        readonly verify: boolean;
        readonly servername?: string | undefined;
      }
    | undefined;
  /** Keeps connections for the next request. Default: each request has its own. */
  readonly connections?: BackendConnections | undefined;
}

export type BackendConnections = https.Agent;

/** As Go's transport keeps them. */
const kept = { keepAlive: true, scheduling: 'lifo', maxFreeSockets: 8, timeout: 90_000 } as const;

/** For servers that are asked again and again; to be destroyed when nobody asks any more. */
export const backendConnections = (): BackendConnections => new https.Agent(kept);

export interface BackendRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** As it comes; closed whatever becomes of the request. */
  readonly body?: Buffer | PullBody | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Until the first byte of the answer's head. Default 30 s. */
  readonly answerWithinMs?: number | undefined;
}

export class BackendError extends Error {
  /** The server ended a kept connection while the request was on its way: another one may do. */
  readonly stale: boolean;
  constructor(message: string, options?: ErrorOptions & { readonly stale?: boolean }) {
    super(message, options);
    this.stale = options?.stale === true;
  }
}

const maxHeaderBytes = 1 << 20;

const answerWithinMs = 30_000;
const staleCodes: readonly (string | undefined)[] = ['ECONNRESET', 'EPIPE'];

function open(target: BackendTarget, request: BackendRequest): http.ClientRequest {
  const options: https.RequestOptions = {
    host: target.host,
    port: target.port,
    method: request.method,
    path: request.path,
    headers: request.headers as http.OutgoingHttpHeaders,
    agent: target.connections ?? false,
    // What a pod's server says is taken as leniently as Go's net/http does, where a connection has one answer only.
    insecureHTTPParser: target.connections === undefined,
    maxHeaderSize: maxHeaderBytes,
    ...(request.signal ? { signal: request.signal } : {}),
  };
  if (target.tls === undefined) return http.request(options);
  const { ca, cert, key, verify, servername } = target.tls;
  return https.request({
    ...options,
    rejectUnauthorized: verify,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(servername === undefined ? {} : { servername }),
  });
}

const hopByHop: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];

/** Bytes that a header must not have on its way on; a lenient parser has let them in. */
const unprintable = /[\u0000-\u0008\u000a-\u001f\u007f]/g;
const clean = (value: string | string[]): string | string[] =>
  Array.isArray(value)
    ? value.map((one) => one.replaceAll(unprintable, ' '))
    : value.replaceAll(unprintable, ' ');

export function endToEnd(headers: http.IncomingHttpHeaders): Record<string, string | readonly string[]> {
  const kept: Record<string, string | readonly string[]> = {};
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !hopByHop.includes(name) && !name.startsWith(':')) kept[name] = clean(value);
  return kept;
}

const protocols = 'sec-websocket-protocol';

/** What a client put among its subprotocols to say who it is, is nobody's but this server's. */
export function withoutCredentials(request: BackendRequest): BackendRequest {
  const { [protocols]: offered, ...headers } = request.headers;
  if (offered === undefined) return request;
  const kept = withoutToken(String(offered));
  return { ...request, headers: kept === '' ? headers : { ...headers, [protocols]: kept } };
}

/** Opens the request; `answered` ends the wait for the backend's first word. */
function begin(
  target: BackendTarget,
  request: BackendRequest,
  fail: (error: BackendError) => void,
): { readonly outgoing: http.ClientRequest; readonly answered: () => void } {
  const outgoing = open(target, withoutCredentials(request));
  boundHead(outgoing, maxHeaderBytes);
  const timer = setTimeout(
    () => outgoing.destroy(new Error('no answer in time')),
    request.answerWithinMs ?? answerWithinMs,
  );
  const answered = (): void => clearTimeout(timer);
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    answered();
    const stale = outgoing.reusedSocket && staleCodes.includes(error.code);
    fail(new BackendError(error.message, { cause: error, stale }));
  });
  return { outgoing, answered };
}

/** What Go's reverse proxy says of an answer that nobody asked for. */
const unaskedUpgrade = (protocol: string): BackendError =>
  new BackendError(`backend tried to switch protocol ${JSON.stringify(protocol)} when "" was requested`);

/** At the speed at which the backend takes it. Who breaks off takes the request with it. */
function sendBody(outgoing: http.ClientRequest, body: BackendRequest['body']): void {
  if (isPullBody(body)) writePull(outgoing, body, () => undefined);
  else outgoing.end(body);
}

/** The answer's head at once, its body as it comes. Throws BackendError. */
export function requestBackend(target: BackendTarget, request: BackendRequest): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const { outgoing, answered } = begin(target, request, reject);
    // Node tells of no end of a connection that nobody takes over.
    outgoing.on('upgrade', (response, socket) => {
      answered();
      socket.destroy();
      reject(unaskedUpgrade(response.headers.upgrade ?? ''));
    });
    outgoing.on('response', (response) => {
      answered();
      const { statusCode: status = 0 } = response;
      if (status < 200) {
        response.destroy();
        reject(new BackendError(`malformed HTTP status code ${JSON.stringify(String(status))}`));
        return;
      }
      const headers = endToEnd(response.headers);
      delete headers['content-length'];
      resolve({ status, headers, body: new StreamBody(response) });
    });
    sendBody(outgoing, request.body);
  });
}

/** At most `limit` bytes of a body, for error texts: of one that breaks off, what there was. */
export async function readTextOf(body: PullBody, limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  try {
    while (size < limit) {
      const chunk = body.pull(limit);
      if (chunk === null) break;
      if (chunk === undefined) {
        await new Promise<void>((resolve) => body.onReady(resolve));
        continue;
      }
      parts.push(chunk);
      size += chunk.length;
    }
  } catch {
    // the rest can't be had
  } finally {
    body.close();
  }
  return Buffer.concat(parts).subarray(0, limit).toString();
}

export type Upgraded =
  | {
      readonly upgraded: true;
      readonly socket: Duplex;
      readonly head: Buffer;
      /** To which it switched. */
      readonly protocol: string | undefined;
      readonly headers: Record<string, string | readonly string[]>;
      readonly rawHead: string;
    }
  | { readonly upgraded: false; readonly response: HttpResponse };

/** Asks the backend to switch protocols. Throws BackendError when it can't be reached. */
export function upgradeBackend(target: BackendTarget, request: BackendRequest): Promise<Upgraded> {
  return new Promise((resolve, reject) => {
    const { outgoing, answered } = begin(target, request, reject);
    outgoing.on('response', (response) => {
      answered();
      resolve({
        upgraded: false,
        response: {
          status: response.statusCode ?? 502,
          headers: endToEnd(response.headers),
          body: new StreamBody(response),
        },
      });
    });
    outgoing.on('upgrade', (response, socket, head) => {
      answered();
      const lines = [`HTTP/1.1 ${response.statusCode} ${response.statusMessage}`];
      for (let i = 0; i + 1 < response.rawHeaders.length; i += 2)
        lines.push(`${response.rawHeaders[i]}: ${response.rawHeaders[i + 1]}`);
      socket.on('error', () => {});
      resolve({
        upgraded: true,
        socket,
        head,
        protocol: response.headers.upgrade,
        headers: { ...endToEnd(response.headers) },
        rawHead: `${lines.join('\r\n')}\r\n\r\n`,
      });
    });
    outgoing.end();
  });
}
