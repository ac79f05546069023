// One HTTP/2 session to another server: many requests side by side, bounded as Go's transport bounds them.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { maxInformational, tooManyInformational } from './answer-head.ts';
import { type BackendRequest, endToEnd, withoutCredentials } from './backend.ts';
import { writePull } from './body-writer.ts';
import { type HttpResponse, isPullBody } from './http-message.ts';
import { StreamBody } from './stream-body.ts';

const limits = {
  maxHeaderBytes: 1 << 20,
  maxHeaderPairs: 2_000,
  /** Of one answer, until its reader takes it: as much as a connection of its own would hold. */
  windowBytes: 128 << 10,
  maxSessionMegabytes: 64,
  /** Until the server has said how many it takes, as Go. */
  streamsAtFirst: 100,
  streamsUnlessSaid: 1_000,
  idleMs: 90_000,
  /** A silent server is probed after that long, and gone when it does not answer; as upstream's transports. */
  silentMs: 30_000,
  answerPingMs: 15_000,
  /** What a server without a request may say between two looks. */
  idleBytes: 64 << 10,
} as const;

const unlimited = 0xffff_ffff;

/** No answer. `unseen`: the server says that it has not looked at the request, or it was never sent. */
export class StreamFailure extends Error {
  readonly unseen: boolean;
  constructor(message: string, unseen: boolean, options?: ErrorOptions) {
    super(message, options);
    this.unseen = unseen;
  }
}

/** RFC 9113, section 7. */
const codeNames: readonly string[] = [
  'NO_ERROR',
  'PROTOCOL_ERROR',
  'INTERNAL_ERROR',
  'FLOW_CONTROL_ERROR',
  'SETTINGS_TIMEOUT',
  'STREAM_CLOSED',
  'FRAME_SIZE_ERROR',
  'REFUSED_STREAM',
  'CANCEL',
  'COMPRESSION_ERROR',
  'CONNECT_ERROR',
  'ENHANCE_YOUR_CALM',
  'INADEQUATE_SECURITY',
  'HTTP_1_1_REQUIRED',
];

/** In Go's words. `isLost`: the whole session is. */
function failureOf({ rstCode, id }: ClientHttp2Stream, cause: unknown, isLost: boolean): StreamFailure {
  const { code, message = 'EOF' } = (cause ?? {}) as { readonly code?: string; readonly message?: string };
  const options = cause === undefined ? {} : { cause };
  if (id === undefined) return new StreamFailure(message, true, options);
  if (isLost || (cause !== undefined && code !== 'ERR_HTTP2_STREAM_ERROR'))
    return new StreamFailure(code?.startsWith('E') === true ? 'EOF' : message, false, options);
  const name = codeNames[rstCode] ?? `unknown error code 0x${rstCode.toString(16)}`;
  const unseen = rstCode === constants.NGHTTP2_REFUSED_STREAM;
  return new StreamFailure(`stream error: stream ID ${id}; ${name}; received from peer`, unseen, options);
}

/** Of a connection, and not of a stream of many. */
const ofConnection: readonly string[] = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'te',
  'host',
];

function headOf(authority: string, { method, path, headers }: BackendRequest): OutgoingHttpHeaders {
  const head: OutgoingHttpHeaders = {
    ':method': method,
    ':path': path,
    ':scheme': 'https',
    ':authority': String(headers['host'] ?? authority),
  };
  for (const [name, value] of Object.entries(headers))
    if (!ofConnection.includes(name)) head[name] = typeof value === 'string' ? value : [...value];
  return head;
}

/** A reset without an error ends a stream of Node's as its last byte does: whoever reads it would take a part for the whole. */
function failWhenCut(stream: ClientHttp2Stream): void {
  const push = stream.push.bind(stream);
  let isWhole = false;
  stream.push = (chunk, encoding) => {
    if (chunk === null && stream.closed && !isWhole) {
      const why = new Error(`stream error: stream ID ${stream.id}; NO_ERROR; received from peer`);
      // Node is not done with it yet.
      queueMicrotask(() => stream.destroy(why));
      return false;
    }
    isWhole ||= chunk === null;
    return push(chunk, encoding);
  };
}

const emptyBody = (body: BackendRequest['body']): boolean =>
  body === undefined || (Buffer.isBuffer(body) && body.length === 0);

export class Http2Backend {
  readonly #session: ClientHttp2Session;
  readonly #socket: TLSSocket;
  readonly #authority: string;
  readonly #look: NodeJS.Timeout;
  #streams = 0;
  #hasSettings = false;
  #bytesBefore = 0;
  #isPinging = false;

  constructor(socket: TLSSocket, authority: string, closed: () => void) {
    this.#socket = socket;
    this.#authority = authority;
    this.#session = connect(`https://${authority}`, {
      createConnection: () => socket,
      settings: {
        enablePush: false,
        initialWindowSize: limits.windowBytes,
        maxHeaderListSize: limits.maxHeaderBytes,
      },
      maxHeaderListPairs: limits.maxHeaderPairs,
      maxSessionMemory: limits.maxSessionMegabytes,
    } as Parameters<typeof connect>[1] & object);
    this.#session.on('error', () => {}); // each stream is told
    this.#session.once('remoteSettings', () => {
      this.#hasSettings = true;
    });
    this.#session.setTimeout(limits.idleMs, () => this.#endUnlessAsked());
    this.#session.once('goaway', () => this.#endUnlessAsked());
    this.#look = setInterval(() => this.#lookAfter(), limits.silentMs).unref();
    this.#session.once('close', () => {
      clearInterval(this.#look);
      closed();
    });
    this.#session.unref();
  }

  get hasRoom(): boolean {
    return this.isUsable && this.#streams < this.#most();
  }

  get isUsable(): boolean {
    return this.isOpen && !this.#session.closed;
  }

  /** Also when it takes no new requests. */
  get isOpen(): boolean {
    return !this.#session.destroyed && !this.#socket.destroyed;
  }

  #most(): number {
    if (!this.#hasSettings) return limits.streamsAtFirst;
    const said = this.#session.remoteSettings.maxConcurrentStreams ?? unlimited;
    // One is begun whatever it says, and waits for its time.
    return said === unlimited ? limits.streamsUnlessSaid : Math.max(1, said);
  }

  /** The answer's head, and its body as it comes. Throws StreamFailure. */
  request(request: BackendRequest, answerWithinMs: number): Promise<HttpResponse> {
    const { body, signal } = request;
    const isEmpty = emptyBody(body);
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(headOf(this.#authority, withoutCredentials(request)), {
        endStream: isEmpty,
      });
    } catch (error) {
      return Promise.reject(
        new StreamFailure((error as Error).message, this.#session.closed, { cause: error }),
      );
    }
    this.#begun(stream);
    failWhenCut(stream);
    const answer = this.#answer(stream, answerWithinMs, signal);
    if (!isEmpty) {
      if (isPullBody(body)) writePull(stream, body, () => undefined);
      else stream.end(body);
    }
    return answer;
  }

  #begun(stream: ClientHttp2Stream): void {
    if (this.#streams++ === 0) this.#session.ref();
    stream.once('close', () => {
      if (--this.#streams > 0) return;
      this.#session.unref();
      // Whoever waited for the last one is told of its end first.
      if (!this.isUsable) queueMicrotask(() => this.#endUnlessAsked());
    });
  }

  /** A session that only ends its side in good order waits for a peer that may never end the other: each would keep a socket. */
  #endUnlessAsked(): void {
    if (this.#streams === 0) this.destroy();
  }

  #answer(
    stream: ClientHttp2Stream,
    withinMs: number,
    signal: AbortSignal | undefined,
  ): Promise<HttpResponse> {
    const leave = (): void => stream.close(constants.NGHTTP2_CANCEL);
    signal?.addEventListener('abort', leave, { once: true });
    stream.once('close', () => signal?.removeEventListener('abort', leave));
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => {
        clearTimeout(timer);
        reject(error);
        leave();
      };
      const timer = setTimeout(() => fail(new StreamFailure('no answer in time', false)), withinMs);
      let informational = 0;
      stream.on('headers', () => {
        if (++informational > maxInformational) fail(tooManyInformational());
      });
      let failure: unknown;
      stream.on('error', (error) => {
        failure = error;
      });
      stream.once('close', () => fail(failureOf(stream, failure, !this.isOpen)));
      stream.once('response', (incoming) => {
        clearTimeout(timer);
        const headers = endToEnd(incoming);
        delete headers['content-length'];
        resolve({ status: Number(incoming[':status']), headers, body: new StreamBody(stream, leave) });
      });
    });
  }

  /** A server that says nothing is asked whether it is there; one that goes on without being asked is left. */
  #lookAfter(): void {
    const bytes = this.#socket.bytesRead;
    const said = bytes - this.#bytesBefore;
    this.#bytesBefore = bytes;
    if (this.#streams === 0) {
      if (said > limits.idleBytes) this.destroy();
      return;
    }
    if (said > 0 || this.#isPinging) return;
    this.#isPinging = true;
    const late = setTimeout(
      () => this.destroy(new Error('http2: client connection lost')),
      limits.answerPingMs,
    );
    late.unref();
    this.#session.ping(() => {
      this.#isPinging = false;
      clearTimeout(late);
    });
  }

  destroy(why?: Error): void {
    this.#session.destroy(why);
    this.#socket.destroy();
  }
}
