// Answers of HTTP/1: a small one in one write, others as streams at the reader's speed.
import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import { chunkBytes, gzipFromBytes, sizeOf, writeGzip, writeParts, writeRegistered } from './body-writer.ts';
import { discardBody, type HttpResponse, isPullBody, type PullBody } from './http-message.ts';
import type { Http1Request } from './http1-request.ts';
import { isKept, wantsGzip } from './http2-request.ts';
import { unreadAnswers } from './unread-answers.ts';

export interface AnswerTo {
  readonly socket: Socket;
  readonly request: Http1Request;
  /** The connection goes on behind it. */
  readonly keepsAlive: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Registers an answer that goes on, so that the server's end can end it. */
  readonly streams: (end: () => void) => () => void;
  /** The client has it, or will get no more of it. Once. Whether the connection goes on. */
  readonly given: (keepsAlive: boolean) => void;
}

/** A number: so many bytes. */
type Framing = 'none' | 'chunked' | 'until-close' | number;

const lineEnd = '\r\n';
const lastChunk = '0\r\n\r\n';
const statusLine = (status: number): string => `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
const named = new Set<string>();

/** Throws for what would be another header, or a body. */
function headerLine(name: string, value: string): string {
  if (!named.has(name)) {
    validateHeaderName(name);
    if (named.size < 256) named.add(name);
  }
  validateHeaderValue(name, value);
  return `${name}: ${value}\r\n`;
}

/** Ours to say, whatever an answer that is passed on says: nothing holds it to the length that it told. */
const ofConnection: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection']);

function headerLines(headers: HttpResponse['headers']): string {
  let lines = '';
  for (const name of Object.keys(headers)) {
    if (ofConnection.has(name)) continue;
    const value = headers[name]!;
    if (typeof value === 'string') lines += headerLine(name, value);
    else for (const one of value) lines += headerLine(name, String(one));
  }
  return lines;
}

let second = -1;
let date = '';
/** As of Go's servers, to the second. */
function dateLine(now: number): string {
  const at = Math.floor(now / 1000);
  if (at !== second) {
    second = at;
    date = `Date: ${new Date(now).toUTCString()}\r\n`;
  }
  return date;
}

const connectionLine = ({ request, keepsAlive }: AnswerTo): string =>
  keepsAlive ? (request.isHttp10 ? 'Connection: keep-alive\r\n' : '') : 'Connection: close\r\n';

function headOf(to: AnswerTo, response: HttpResponse, framing: Framing, more = ''): string {
  const { status, headers } = response;
  const dated = headers['date'] === undefined ? dateLine(to.now) : '';
  const framed =
    typeof framing === 'number'
      ? `Content-Length: ${framing}\r\n`
      : framing === 'chunked'
        ? 'Transfer-Encoding: chunked\r\n'
        : '';
  return `${statusLine(status)}${headerLines(headers)}${more}${dated}${connectionLine(to)}${framed}\r\n`;
}

const hasNoBody = (status: number): boolean => status === 204 || status === 304;

/** What is written as it comes, in chunks when nobody knows how much it is. */
class AnswerStream extends Writable {
  readonly #socket: Socket;
  readonly #isChunked: boolean;
  constructor({ socket, keepsAlive, given }: AnswerTo, framing: Framing) {
    super({ highWaterMark: socket.writableHighWaterMark });
    this.#socket = socket;
    this.#isChunked = framing === 'chunked';
    const closed = (): void => void this.destroy();
    socket.once('close', closed);
    this.once('close', () => {
      socket.off('close', closed);
      given(keepsAlive);
    });
    this.on('error', ignore);
  }

  override _write(bytes: Buffer, _encoding: string, written: (error?: Error | null) => void): void {
    const socket = this.#socket;
    if (!this.#isChunked) {
      socket.write(bytes, written);
      return;
    }
    // A chunk of nothing is the last one.
    if (bytes.length === 0) {
      written();
      return;
    }
    socket.cork();
    socket.write(`${bytes.length.toString(16)}\r\n`, 'latin1');
    socket.write(bytes);
    socket.write(lineEnd, 'latin1', written);
    socket.uncork();
  }

  override _final(written: (error?: Error | null) => void): void {
    if (this.#isChunked) this.#socket.write(lastChunk, 'latin1', written);
    else written();
  }

  /** What ends before its end must not pass for the whole. */
  override _destroy(error: Error | null, destroyed: (error?: Error | null) => void): void {
    if (!this.writableFinished) this.#socket.destroy();
    destroyed(error);
  }
}

const ignore = (): void => {};

/** A head and its whole body at once. */
function writeWhole(
  { socket, keepsAlive, given }: AnswerTo,
  head: string,
  parts: readonly Buffer[],
  size: number,
): void {
  const bytes = Buffer.allocUnsafe(head.length + size);
  let at = bytes.write(head, 'latin1');
  for (const part of parts) at += part.copy(bytes, at);
  unreadAnswers.add(socket);
  socket.write(bytes, () => {
    unreadAnswers.taken(socket);
    given(keepsAlive);
  });
}

/** Without a length it is said where the body ends: by the last chunk, or, as HTTP/1.0 knows none, by the connection's end. */
function streamTo(to: AnswerTo, response: HttpResponse, length?: number, more?: string): AnswerStream {
  const { isHttp10 } = to.request;
  const framing: Framing = length ?? (isHttp10 ? 'until-close' : 'chunked');
  const kept = framing === 'until-close' ? { ...to, keepsAlive: false } : to;
  to.socket.write(headOf(kept, response, framing, more), 'latin1');
  return new AnswerStream(kept, framing);
}

function answerByPull(to: AnswerTo, response: HttpResponse, body: PullBody): void {
  if (to.request.method === 'HEAD' || hasNoBody(response.status)) {
    body.close();
    writeWhole(to, headOf(to, response, 'none'), [], 0);
    return;
  }
  writeRegistered(streamTo(to, response), body, to.streams);
}

const gzipped = 'content-encoding: gzip\r\nvary: Accept-Encoding\r\n';

/** Throws when the answer can't be written as it is: nothing of it has been then. */
export function answerHttp1(to: AnswerTo, response: HttpResponse): void {
  const { request } = to;
  const { body, status } = response;
  if (!to.socket.writable) {
    discardBody(body);
    to.given(false);
    return;
  }
  if (isPullBody(body)) {
    answerByPull(to, response, body);
    return;
  }
  const parts = body === undefined ? [] : Buffer.isBuffer(body) ? [body] : body;
  const size = sizeOf(parts);
  const isBodiless = request.method === 'HEAD' || hasNoBody(status);
  if (size >= gzipFromBytes && !isBodiless && wantsGzip(request, response))
    writeGzip(streamTo(to, response, undefined, gzipped), parts, isKept(response));
  else if (!isBodiless && size > chunkBytes) writeParts(streamTo(to, response, size), parts);
  else {
    const head = headOf(to, response, hasNoBody(status) ? 'none' : size);
    writeWhole(to, head, isBodiless ? [] : parts, isBodiless ? 0 : size);
  }
}
