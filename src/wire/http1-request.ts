// HTTP/1.1 requests and upgrades as requests and answers.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { gzipFromBytes, sizeOf, writeBytes, writeGzip, writeParts, writePull } from './body-writer.ts';
import type { ClientCertificate, HttpHeaders, HttpRequest, HttpResponse } from './http-message.ts';
import { discardBody, isPullBody } from './http-message.ts';
import { isKept, wantsGzip } from './http2-request.ts';
import type { PeerIdentities } from './peer-certificate.ts';
import { readBody } from './read-body.ts';

/**
 * HTTP/1.0 knows no Transfer-Encoding. As Go: the request has no body. What follows it on the connection may be one for
 * somebody before us and a request for somebody else, so nobody looks at it.
 */
export const hasFaultyFraming = ({ httpVersionMajor, httpVersionMinor, headers }: IncomingMessage): boolean =>
  httpVersionMajor === 1 && httpVersionMinor === 0 && headers['transfer-encoding'] !== undefined;

/** A body in another coding than chunks would be read as if it were plain. As Go: nobody reads it, and the connection ends. */
const hasUnknownCoding = ({ headers }: IncomingMessage): boolean => {
  const coding = headers['transfer-encoding'];
  return coding !== undefined && coding.toLowerCase() !== 'chunked';
};

const told = (status: number, text: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from(text),
});
const unknownCoding = told(501, 'Unsupported transfer encoding');
const tooManyHosts = told(400, '400 Bad Request');
const noHost = told(400, '400 Bad Request: missing required Host header');
const malformedHost = told(400, '400 Bad Request: malformed Host header');

/** As Go's ValidHostHeader: of a name, an address, a port. */
const hostText = /^[\w!$%&()*+,.:;='[\]~-]*$/;

/** Who is before us may have gone by another of two hosts than we. In the words of Go's server. */
function hostFault({ headers, rawHeaders, httpVersionMinor }: IncomingMessage): HttpResponse | undefined {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.length === 4 && rawHeaders[i]!.toLowerCase() === 'host') count++;
  if (count > 1) return tooManyHosts;
  if (headers.host === undefined) return httpVersionMinor === 0 ? undefined : noHost;
  return hostText.test(headers.host) ? undefined : malformedHost;
}

/** What a request is answered before anybody looks at it. Its connection ends. */
const faultOf = (message: IncomingMessage): HttpResponse | undefined =>
  hostFault(message) ?? (hasUnknownCoding(message) && !hasFaultyFraming(message) ? unknownCoding : undefined);

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** RFC 9112, 3.2.2: whoever believes that he asks a proxy sends the whole URL. */
function pathOf(target: string): string {
  const [authority] = /^https?:\/\/[^/?#]*/i.exec(target) ?? [];
  if (authority === undefined) return target;
  const path = target.slice(authority.length);
  return path.startsWith('/') ? path : `/${path}`;
}

export class Http1Request implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HttpHeaders;
  readonly upgrade?: { readonly socket: Duplex; readonly head: Buffer } | undefined;
  waited = false;
  readonly fault: HttpResponse | undefined;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse | undefined;
  readonly #peers: PeerIdentities;
  #signal: AbortSignal | undefined;
  constructor(
    message: IncomingMessage,
    response: ServerResponse | undefined,
    peers: PeerIdentities,
    upgrade?: { readonly socket: Duplex; readonly head: Buffer },
  ) {
    this.method = message.method ?? 'GET';
    this.url = pathOf(message.url ?? '/');
    this.headers = message.headers as HttpHeaders;
    this.upgrade = upgrade;
    this.fault = faultOf(message);
    this.#message = message;
    this.#response = response;
    this.#peers = peers;
  }
  readBody(limit: number): Promise<Buffer> {
    if (hasFaultyFraming(this.#message)) {
      this.#message.resume();
      return Promise.resolve(Buffer.alloc(0));
    }
    return readBody(this.#message, limit, this.#message.headers['content-length']);
  }
  get signal(): AbortSignal {
    if (this.#signal) return this.#signal;
    const controller = new AbortController();
    const { socket } = this.#message;
    const left = (): void => controller.abort();
    if (this.#response === undefined) socket.once('close', left);
    else {
      // As in Go, who will send no more has left; what is answered all the same is sent.
      socket.once('end', left);
      if (socket.readableEnded) left();
      this.#response.once('close', () => {
        socket.off('end', left);
        left();
      });
    }
    if (socket.destroyed) left();
    this.#signal = controller.signal;
    return this.#signal;
  }
  get rawHeaders(): readonly string[] {
    return this.#message.rawHeaders;
  }
  get remoteAddress(): string {
    return this.#message.socket.remoteAddress ?? '';
  }
  get clientCertificate(): ClientCertificate | undefined {
    return this.#peers(this.#message.socket).certificate;
  }
  get clientCertificateError(): string | undefined {
    return this.#peers(this.#message.socket).error;
  }
}

const none = Buffer.alloc(0);

export const refusalOf = (request: HttpRequest): HttpResponse | undefined =>
  request instanceof Http1Request ? request.fault : undefined;

/** As Go's server: time for the client to read the answer to a body that nobody will read. */
const unreadBodyMs = 500;

/** A body that goes on after its answer would be parsed as long as its sender likes. */
function letGoUnlessRead(out: ServerResponse): void {
  const message = out.req;
  if (message.complete) return;
  out.once('finish', () => {
    if (message.complete) return;
    const timer = setTimeout(() => {
      if (!message.complete) message.socket.destroy();
    }, unreadBodyMs);
    message.once('close', () => clearTimeout(timer));
  });
}

type OutgoingHeaders = Record<string, string | string[] | number>;

export function respondHttp1(
  out: ServerResponse,
  request: HttpRequest,
  response: HttpResponse,
  onPull: (end: () => void) => () => void,
): void {
  const body = response.body;
  if (out.destroyed || out.headersSent) {
    discardBody(body);
    return;
  }
  letGoUnlessRead(out);
  const headers = { ...response.headers } as OutgoingHeaders;
  if (isPullBody(body)) {
    out.writeHead(response.status, headers);
    if (request.method === 'HEAD') {
      body.close();
      out.end();
      return;
    }
    out.flushHeaders();
    let release = (): void => {};
    const end = writePull(out, body, () => release());
    release = onPull(end);
    return;
  }
  const parts = body === undefined ? [] : Buffer.isBuffer(body) ? [body] : body;
  const size = sizeOf(parts);
  if (size >= gzipFromBytes && request.method !== 'HEAD' && wantsGzip(request, response)) {
    headers['content-encoding'] = 'gzip';
    headers['vary'] = 'Accept-Encoding';
    out.writeHead(response.status, headers);
    writeGzip(out, parts, isKept(response));
    return;
  }
  if (response.status !== 204 && response.status !== 304) headers['content-length'] = size;
  out.writeHead(response.status, headers);
  if (request.method === 'HEAD') out.end();
  else if (parts.length <= 1) writeBytes(out, parts[0] ?? none);
  else writeParts(out, parts);
}

/** Answers an upgrade request that the handler did not take over. */
export function refuseUpgrade(socket: Duplex, response: HttpResponse): void {
  const body = response.body;
  discardBody(body);
  if (socket.destroyed) return;
  const bytes =
    body === undefined || isPullBody(body)
      ? Buffer.alloc(0)
      : Buffer.isBuffer(body)
        ? body
        : Buffer.concat(body);
  const lines = [`HTTP/1.1 ${response.status} ${reasonOf(response.status)}`];
  for (const [name, value] of Object.entries(response.headers))
    for (const one of Array.isArray(value) ? value : [value]) lines.push(`${name}: ${String(one)}`);
  lines.push(`content-length: ${bytes.length}`, 'connection: close', '', '');
  socket.end(Buffer.concat([Buffer.from(lines.join('\r\n'), 'latin1'), bytes]));
}

/** What was sent is no request, or was not sent in time. */
export function refuseUnreadable({ code }: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const status =
    code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  socket.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`,
  );
}

const reasons: Readonly<Record<number, string>> = {
  200: 'OK',
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
};
const reasonOf = (status: number): string => reasons[status] ?? 'Status';
