// One HTTP GET for a probe or a hook: no keep-alive, no certificate check, a bound on the body, upstream's error texts.

import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { isIP, connect as tcpConnect } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { hostPort } from '../base/ip.ts';
import { refuseManyInformational } from './answer-head.ts';
import { boundedSocket } from './bounded-socket.ts';

export interface HttpProbeRequest {
  readonly scheme: 'HTTP' | 'HTTPS';
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly userAgent: string;
  readonly timeoutMs: number;
}

export interface HttpProbeResult {
  readonly status: number;
  readonly body: string;
  readonly location: string;
  /** Set when there was no answer. */
  readonly error?: string;
}

const maxBodyBytes = 10 * 1024;
/** Answers that Go's net/http takes and Node's strict parser does not: lines that end in LF alone, odd bytes in values. */
const lenient = { insecureHTTPParser: true, maxHeaderSize: 1 << 20 } as const;
/** Of everything: the head, the body in chunks of whatever form, TLS. */
const maxAnswerBytes = 2 << 20;

const urlText = (r: HttpProbeRequest): string =>
  `${r.scheme.toLowerCase()}://${hostPort(r.host, r.port)}${r.path.startsWith('/') ? r.path : `/${r.path}`}`;

function errorText(r: HttpProbeRequest, error: unknown): string {
  const code = (error as { code?: string }).code;
  const dial = `Get "${urlText(r)}": dial tcp ${hostPort(r.host, r.port)}`;
  if (code === 'ECONNREFUSED') return `${dial}: connect: connection refused`;
  if (code === 'EHOSTUNREACH') return `${dial}: connect: no route to host`;
  if (code === 'ENETUNREACH') return `${dial}: connect: network is unreachable`;
  if (code === 'ECONNRESET') return `Get "${urlText(r)}": EOF`;
  return `Get "${urlText(r)}": ${error instanceof Error ? error.message : String(error)}`;
}

function headersOf(r: HttpProbeRequest): Record<string, string> {
  const headers: Record<string, string> = Object.assign(Object.create(null), {
    'user-agent': r.userAgent,
    accept: '*/*',
    connection: 'close',
  });
  for (const { name, value } of r.headers) headers[name.toLowerCase()] = value;
  return headers;
}

const failure = (error: string): HttpProbeResult => ({ status: 0, body: '', location: '', error });

/** As https.request names the server by itself: by the header that the request has, never by an address. */
function serverNameOf({ hostname }: URL, headers: Readonly<Record<string, string>>): string {
  const name = (headers.host ?? hostname).replace(/:\d+$/, '');
  return name.startsWith('[') || isIP(name) !== 0 ? '' : name;
}

function connect(r: HttpProbeRequest, url: URL, headers: Readonly<Record<string, string>>): Duplex {
  const raw = tcpConnect({ host: url.hostname.replace(/^\[|\]$/g, ''), port: r.port });
  const tooMuch = `net/http: server response exceeded ${maxAnswerBytes} bytes; aborted`;
  const socket = boundedSocket(raw, maxAnswerBytes, tooMuch);
  if (r.scheme === 'HTTP') return socket;
  const servername = serverNameOf(url, headers);
  return tlsConnect({ socket, servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
}

/** Throws Error for a header or host that node:http refuses. */
function open(r: HttpProbeRequest): ClientRequest {
  const url = new URL(urlText(r));
  const headers = headersOf(r);
  const request = httpRequest({
    method: 'GET',
    host: url.hostname,
    port: r.port,
    defaultPort: r.scheme === 'HTTPS' ? 443 : 80,
    path: url.pathname + url.search,
    headers,
    createConnection: () => connect(r, url, headers),
    ...lenient,
  });
  refuseManyInformational(request);
  return request;
}

/** Answers `end` with what came, also of a body that goes on. */
function readAnswer(
  request: ClientRequest,
  response: IncomingMessage,
  end: (result: HttpProbeResult) => void,
): void {
  const parts: Buffer[] = [];
  let size = 0;
  const done = (): void =>
    end({
      status: response.statusCode ?? 0,
      body: Buffer.concat(parts).toString('utf8').slice(0, maxBodyBytes),
      location: response.headers.location ?? '',
    });
  response.on('data', (data: Buffer) => {
    parts.push(data);
    size += data.length;
    if (size > maxBodyBytes) request.destroy();
  });
  // What comes after the end of the body, as upstream, concerns nobody.
  response.on('end', done);
  response.on('close', () => {
    if (response.complete || size > maxBodyBytes) done();
    else end(failure('unexpected EOF'));
  });
  response.on('error', () => undefined); // 'close' follows
}

/** Never throws: what went wrong is in the result. `signal`: nobody wants to know any more. */
export function probeHttp(r: HttpProbeRequest, signal: AbortSignal): Promise<HttpProbeResult> {
  return new Promise((resolve) => {
    let request: ClientRequest;
    try {
      request = open(r);
    } catch (error) {
      return resolve(failure(errorText(r, error)));
    }
    let response: IncomingMessage | undefined;
    const giveUp = (why: string): void => void request.destroy(new Error(why));
    const stop = (): void => giveUp('context canceled');
    const late = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
    const timer = setTimeout(giveUp, r.timeoutMs, late);
    const end = (result: HttpProbeResult): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      resolve(result);
    };
    signal.addEventListener('abort', stop, { once: true });
    request.on('response', (answer) => {
      response = answer;
      readAnswer(request, answer, end);
    });
    // Node tells of no end of a connection that nobody takes over. It is an answer like others, and no good one.
    request.on('upgrade', (answer, socket) => {
      socket.destroy();
      end({ status: answer.statusCode ?? 0, body: '', location: '' });
    });
    request.on('error', (error) => {
      if (response?.complete !== true) end(failure(errorText(r, error)));
    });
    if (signal.aborted) stop();
    request.end();
  });
}
