// HTTP/2 streams as requests and answers, by the raw stream interface (the compatible one costs a third more).
import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { gzipFromBytes, sizeOf, writeBytes, writeGzip, writeParts, writeRegistered } from './body-writer.ts';
import type { ClientCertificate, HttpHeaders, HttpRequest, HttpResponse, PullBody } from './http-message.ts';
import { discardBody, isPullBody } from './http-message.ts';
import type { PeerIdentities } from './peer-certificate.ts';
import { readBody } from './read-body.ts';
import { StreamBody } from './stream-body.ts';

/** The real socket of a session: Node hands out a proxy that refuses most questions. */
export const sessionSockets: WeakMap<object, Duplex> = new WeakMap();

/** Made once: an error for each of a thousand watches that end with their connection would hold up everybody. */
const clientGone = new DOMException('This operation was aborted', 'AbortError');

/** Properties that cost something are made when asked for. */
export class Http2Request implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HttpHeaders;
  readonly rawHeaders: readonly string[];
  waited = false;
  readonly #stream: ServerHttp2Stream;
  readonly #peers: PeerIdentities;
  #signal: AbortSignal | undefined;
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    peers: PeerIdentities,
  ) {
    this.rawHeaders = rawHeaders;
    this.#peers = peers;
    this.method = headers[':method'] ?? 'GET';
    this.url = headers[':path'] ?? '/';
    this.headers = headers as HttpHeaders;
    this.#stream = stream;
  }
  readBody(limit: number): Promise<Buffer> {
    return readBody(this.#stream, limit, this.headers['content-length'] as string | undefined);
  }
  streamBody(): PullBody | undefined {
    const stream = this.#stream;
    // The answer goes by the same stream, which ends when that is given and the rest of the body is thrown away.
    return stream.endAfterHeaders ? undefined : new StreamBody(stream, () => stream.resume());
  }
  get signal(): AbortSignal {
    if (this.#signal) return this.#signal;
    if (this.#stream.destroyed) {
      this.#signal = AbortSignal.abort();
      return this.#signal;
    }
    const controller = new AbortController();
    this.#stream.once('close', () => controller.abort(clientGone));
    this.#signal = controller.signal;
    return this.#signal;
  }
  get remoteAddress(): string {
    return this.#stream.session?.socket?.remoteAddress ?? '';
  }
  get clientCertificate(): ClientCertificate | undefined {
    return this.#peers(this.#socket()).certificate;
  }
  get clientCertificateError(): string | undefined {
    return this.#peers(this.#socket()).error;
  }
  #socket(): Duplex | undefined {
    const session = this.#stream.session;
    return session === undefined ? undefined : sessionSockets.get(session);
  }
}

/** Writes an answer; `onPull` registers a stream so that shutdown can end it. */
export function respondHttp2(
  stream: ServerHttp2Stream,
  request: HttpRequest,
  response: HttpResponse,
  onPull: (end: () => void) => () => void,
): void {
  if (stream.destroyed || stream.closed) {
    discardBody(response.body);
    return;
  }
  const headers: OutgoingHttpHeaders = Object.assign(
    { ':status': response.status },
    response.headers as OutgoingHttpHeaders,
  );
  const body = response.body;
  if (body === undefined || request.method === 'HEAD') {
    discardBody(body);
    stream.respond(headers, { endStream: true });
  } else if (isPullBody(body)) {
    stream.respond(headers);
    writeRegistered(stream, body, onPull);
  } else {
    const single = Buffer.isBuffer(body);
    const size = single ? body.length : sizeOf(body);
    if (size >= gzipFromBytes && wantsGzip(request, response)) {
      headers['content-encoding'] = 'gzip';
      headers['vary'] = 'Accept-Encoding';
      stream.respond(headers);
      writeGzip(stream, single ? [body] : body, isKept(response));
      return;
    }
    headers['content-length'] = size;
    stream.respond(headers);
    if (single) writeBytes(stream, body);
    else writeParts(stream, body);
  }
}

/** What has a tag is a document of one buffer that is kept until it changes. */
export const isKept = ({ headers, body }: HttpResponse): boolean =>
  headers['etag'] !== undefined && Buffer.isBuffer(body);

export function wantsGzip(request: HttpRequest, response: HttpResponse): boolean {
  const accepts = request.headers['accept-encoding'];
  return (
    typeof accepts === 'string' &&
    /(^|[ ,])gzip($|[ ,;])/.test(accepts) &&
    response.headers['content-encoding'] === undefined
  );
}
