// A request of HTTP/1 as a value.
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ClientCertificate, HttpHeaders, HttpRequest, HttpResponse, PullBody } from './http-message.ts';
import { Http1Body } from './http1-body.ts';
import { expectsContinue, faultOf, hasFaultyFraming } from './http1-faults.ts';
import { headersByName } from './http1-headers.ts';
import type { RequestHead } from './http1-parser.ts';
import type { PeerIdentities } from './peer-certificate.ts';
import { sessionClients } from './session-clients.ts';

/** RFC 9112, 3.2.2: whoever believes that he asks a proxy sends the whole URL. */
function pathOf(target: string): string {
  if (target.startsWith('/')) return target;
  const [authority] = /^https?:\/\/[^/?#]*/i.exec(target) ?? [];
  if (authority === undefined) return target;
  const path = target.slice(authority.length);
  return path.startsWith('/') ? path : `/${path}`;
}

export interface RequestConnection {
  readonly socket: Socket;
  readonly peers: PeerIdentities;
  /** It had to wait for its turn. */
  readonly waited: boolean;
}

const empty = Promise.resolve(Buffer.alloc(0));

export class Http1Request implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly isHttp10: boolean;
  readonly waited: boolean;
  readonly refusal: HttpResponse | undefined;
  /** What follows it on its connection is not looked at. */
  readonly isLast: boolean;
  upgrade?: { readonly socket: Duplex; readonly head: Buffer } | undefined;
  /** All of it has been read. */
  isComplete = false;
  readonly #socket: Socket;
  readonly #peers: PeerIdentities;
  readonly #body: Http1Body | undefined;
  readonly #remoteAddress: string;
  /** The client waits to be told before it sends the body. */
  #awaitsWord: boolean;
  #aborter: AbortController | undefined;
  #hasLeft = false;

  constructor(head: RequestHead, { socket, peers, waited }: RequestConnection) {
    this.method = head.method ?? '';
    this.url = pathOf(head.url);
    this.rawHeaders = head.rawHeaders;
    this.headers = headersByName(head.rawHeaders);
    this.isHttp10 = head.isHttp10;
    this.waited = waited;
    this.#socket = socket;
    this.#peers = peers;
    this.#remoteAddress = socket.remoteAddress ?? '';
    this.refusal = faultOf(head, this.headers);
    const isFaulty = hasFaultyFraming(head, this.headers);
    // Node's parser reads no body of a CONNECT, whatever is said of it.
    this.isLast = isFaulty || this.refusal !== undefined || this.method === 'CONNECT';
    this.#body = this.hasBody && !isFaulty ? new Http1Body(socket) : undefined;
    this.#awaitsWord = !head.isHttp10 && expectsContinue(this.headers);
  }

  /** Said of it; 0 when it comes in chunks. */
  get bodyLength(): number {
    if (this.method === 'CONNECT') return 0;
    return this.#coding === undefined ? Number(this.#said('content-length') ?? 0) : 0;
  }

  get hasBody(): boolean {
    return this.method !== 'CONNECT' && (this.#coding !== undefined || this.bodyLength > 0);
  }

  /** The answer comes without the body having been asked for, so nobody knows whether it will follow. */
  get leavesBodyOpen(): boolean {
    return this.#awaitsWord && !this.isComplete;
  }

  readBody(limit: number): Promise<Buffer> {
    if (this.#body === undefined) return empty;
    const declared = this.#said('content-length');
    if (!(Number(declared) > limit)) this.#giveWord();
    return this.#body.read(limit, declared);
  }

  streamBody(): PullBody | undefined {
    if (this.#body === undefined) return undefined;
    this.#giveWord();
    // Held up by whoever takes it, the socket does not tell that its client has left.
    sessionClients.add(this.#socket);
    return this.#body.stream();
  }

  #giveWord(): void {
    if (!this.#awaitsWord) return;
    this.#awaitsWord = false;
    if (!this.isComplete) this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n');
  }

  /** A piece of the body. */
  take(bytes: Buffer): void {
    this.#body?.push(bytes);
  }

  complete(): void {
    this.isComplete = true;
    this.#body?.complete();
  }

  /** It is answered: nobody reads the rest of it. */
  answered(): void {
    this.#body?.unwanted();
    this.left();
  }

  /** The client has left, or has its answer. */
  left(): void {
    this.#hasLeft = true;
    this.#aborter?.abort();
  }

  /** Nothing more comes. */
  cut(): void {
    this.#body?.cut();
    this.left();
  }

  get signal(): AbortSignal {
    if (this.#aborter === undefined) {
      this.#aborter = new AbortController();
      if (this.#hasLeft) this.#aborter.abort();
    }
    return this.#aborter.signal;
  }

  get remoteAddress(): string {
    return this.#remoteAddress;
  }
  get clientCertificate(): ClientCertificate | undefined {
    return this.#peers(this.#socket).certificate;
  }
  get clientCertificateError(): string | undefined {
    return this.#peers(this.#socket).error;
  }

  #said(name: string): string | undefined {
    return this.headers[name] as string | undefined;
  }
  get #coding(): string | undefined {
    return this.#said('transfer-encoding');
  }
}
