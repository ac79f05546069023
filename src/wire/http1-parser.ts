// What the bytes of an HTTP/1 client say: heads, bodies and ends of requests, by Node's own parser.
/// <reference path="./node-http-common.d.ts" />
import { HTTPParser, methods } from 'node:_http_common';

export interface RequestHead {
  /** undefined: one of another protocol. */
  readonly method: string | undefined;
  readonly url: string;
  /** Names and values in turn, as sent. */
  readonly rawHeaders: readonly string[];
  readonly majorVersion: number;
  /** 1.0, or before. */
  readonly isHttp10: boolean;
  readonly asksForUpgrade: boolean;
  /** The client will use the connection again. */
  readonly keepsAlive: boolean;
}

export interface ParserEvents {
  /** Answers whether what follows is of another protocol. */
  head(head: RequestHead): boolean;
  body(bytes: Buffer): void;
  /** The request is whole. */
  complete(): void;
}

/** `code` says what is wrong, as `HPE_HEADER_OVERFLOW`. */
export type ParseError = Error & { readonly code?: string };

/** The parser knows those of RTSP as well, and has them before the last one of HTTP. */
const query = { number: 46, name: 'QUERY' } as const;
const firstOfRtsp = methods.indexOf(query.name);
const nameOf = (method: number): string | undefined =>
  method < firstOfRtsp ? methods[method] : method === query.number ? query.name : undefined;

/** Each is looked at several times. */
const mostHeaders = 1_000;
const tooLarge = (): ParseError => Object.assign(new Error('Parse Error'), { code: 'HPE_HEADER_OVERFLOW' });

const goesOn = 0;
const isAnotherProtocol = 2;

/**
 * Without Node's server around it, whose streams for each request and answer cost more than everything that the API server does for a GET.
 */
export class Http1Parser {
  readonly #parser = new HTTPParser();
  readonly #events: ParserEvents;
  /** What comes before the head is whole: it is told of in parts when there are many headers. */
  #headers: string[] = [];
  #url = '';
  #isHandedOver = false;
  /** The request that is being read asks for another protocol, and does not get it. */
  #asksInVain = false;
  #isComplete = true;
  #isReading = false;
  /** Given of a head that is not whole: the parser counts names and values only. */
  #headBytes = 0;
  #isTooLarge = false;
  readonly #maxHeaderBytes: number;

  constructor(events: ParserEvents, maxHeaderBytes: number) {
    this.#events = events;
    this.#maxHeaderBytes = maxHeaderBytes;
    this.#initialize();
    const parser = this.#parser;
    parser[HTTPParser.kOnHeaders] = this.#part;
    parser[HTTPParser.kOnHeadersComplete] = this.#head;
    parser[HTTPParser.kOnBody] = (bytes: Buffer) => events.body(bytes);
    parser[HTTPParser.kOnMessageComplete] = () => {
      // Trailers are told of as a part of a head is. Nobody asks for them.
      this.#forget();
      this.#isComplete = true;
      events.complete();
    };
  }

  /** Answers what is of another protocol, if a request has asked for it. */
  read(bytes: Buffer): ParseError | Buffer | undefined {
    // Node's parser would go on in memory that is not its own.
    if (this.#isReading) throw new Error('the HTTP parser was called by what it tells');
    this.#isReading = true;
    try {
      return this.#read(bytes);
    } finally {
      this.#isReading = false;
    }
  }

  #read(bytes: Buffer): ParseError | Buffer | undefined {
    for (let rest = bytes; ; ) {
      this.#headBytes += this.#isComplete ? rest.length : 0;
      const length = this.#parser.execute(rest);
      if (typeof length !== 'number') return length;
      if (this.#isTooLarge || this.#headBytes > this.#maxHeaderBytes) return tooLarge();
      if (this.#isHandedOver) return rest.subarray(length);
      const isBehindVainAsk = this.#asksInVain && this.#isComplete;
      if (isBehindVainAsk) this.#initialize();
      if (length >= rest.length) return undefined;
      // Of what asks for another protocol a fault in the body is told of by no more than that the parser stops.
      if (!isBehindVainAsk) return new Error('Parse Error: the body of the request is none');
      rest = rest.subarray(length);
    }
  }

  /** Also behind a request that asked for another protocol in vain: it would take what follows for that. */
  #initialize(): void {
    this.#asksInVain = false;
    this.#parser.initialize(HTTPParser.REQUEST, {}, this.#maxHeaderBytes, HTTPParser.kLenientNone);
  }

  /** There is no more: an error when a request was not whole. */
  finish(): ParseError | undefined {
    if (this.#isReading) return undefined;
    return this.#parser.finish();
  }

  /** May be called by what it tells. */
  close(): void {
    setImmediate(closed, this.#parser);
  }

  #forget(): void {
    this.#headers = [];
    this.#url = '';
  }

  readonly #part = (headers: string[], url: string): void => {
    this.#isTooLarge ||= this.#headers.length > 2 * mostHeaders;
    if (this.#isTooLarge) return;
    this.#headers.push(...headers);
    this.#url += url;
  };

  readonly #head = (
    major: number,
    minor: number,
    headers: string[] | undefined,
    method: number,
    url: string | undefined,
    _status: unknown,
    _statusText: unknown,
    asksForUpgrade: boolean,
    keepsAlive: boolean,
  ): number => {
    this.#headBytes = 0;
    if (this.#isTooLarge) return goesOn;
    const rawHeaders = headers ?? this.#headers;
    const head: RequestHead = {
      method: nameOf(method),
      majorVersion: major,
      url: url ?? this.#url,
      rawHeaders,
      isHttp10: major < 1 || (major === 1 && minor === 0),
      asksForUpgrade,
      keepsAlive,
    };
    this.#forget();
    this.#isComplete = false;
    this.#isHandedOver = this.#events.head(head);
    this.#asksInVain = asksForUpgrade && !this.#isHandedOver;
    return this.#isHandedOver ? isAnotherProtocol : goesOn;
  };
}

const closed = (parser: HTTPParser): void => parser.close();
