// What the bytes of an HTTP/1 server say to one question: the whole answer, by Node's own parser, bounded as Go's net/http bounds it.
/// <reference path="./node-http-common.d.ts" />
import { HTTPParser } from 'node:_http_common';
import { maxInformational, tooLongHead, tooManyInformational } from './answer-head.ts';

export interface WholeAnswer {
  readonly status: number;
  /** Of the first header of that name in lower case; '' when there is none. */
  header(name: string): string;
  readonly body: Buffer;
  /** The server will answer again on this connection. */
  readonly keepsAlive: boolean;
}

export interface AnswerLimits {
  readonly headBytes: number;
  readonly bodyBytes: number;
}

/** The server has ended the connection before its answer was whole. */
export class BrokenOffError extends Error {
  readonly code = 'ECONNRESET';
}

interface Head extends Pick<WholeAnswer, 'status' | 'keepsAlive'> {
  readonly rawHeaders: readonly string[];
}

const switching = 101;
const isInformational = (status: number): boolean => status >= 100 && status < 200 && status !== switching;

const nothing = Buffer.alloc(0);

const goesOn = 0;
const hasNoBody = 1;

/** Without Node's client around it, whose streams for each question and answer cost as much as TLS and all else together. */
export class AnswerReader {
  readonly #parser = new HTTPParser();
  readonly #limits: AnswerLimits;
  #headers: string[] = [];
  #head: Head | undefined;
  /** With room for more behind it, once it has come in pieces. */
  #body: Buffer = nothing;
  #bodyBytes = 0;
  /** Before the head was whole. */
  #headBytes = 0;
  #informational = 0;
  #isWhole = false;
  #refused: Error | undefined;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
    const parser = this.#parser;
    // Nothing is done where the parser tells: it must not be called by what it calls.
    parser[HTTPParser.kOnMessageBegin] = () => {
      // Of another answer, that nobody asked for.
      if (this.#isWhole) this.#head = { ...this.#head!, keepsAlive: false };
    };
    parser[HTTPParser.kOnHeaders] = (headers: string[]) => {
      if (this.#head === undefined) for (const text of headers) this.#headers.push(text);
    };
    parser[HTTPParser.kOnHeadersComplete] = this.#onHead;
    parser[HTTPParser.kOnBody] = (bytes: Buffer) => this.#onBody(bytes);
    parser[HTTPParser.kOnMessageComplete] = () => {
      this.#isWhole ||= this.#head !== undefined;
    };
  }

  /** Whatever came before, what comes now is the answer to another question. */
  begin(): void {
    this.#headers = [];
    this.#head = undefined;
    this.#body = nothing;
    this.#bodyBytes = 0;
    this.#headBytes = 0;
    this.#informational = 0;
    this.#isWhole = false;
    this.#refused = undefined;
    this.#parser.initialize(HTTPParser.RESPONSE, {}, this.#limits.headBytes, HTTPParser.kLenientNone);
  }

  /** Its head was seen. */
  get hasBegun(): boolean {
    return this.#head !== undefined;
  }

  /** undefined: there is more to come. Throws when it is no answer, or too long. */
  read(bytes: Buffer): WholeAnswer | undefined {
    const read = this.#parser.execute(bytes);
    if (this.#refused !== undefined) throw this.#refused;
    // What comes behind an answer is no part of it, whatever it is.
    if (this.#isWhole) return this.#whole(typeof read === 'number');
    if (typeof read !== 'number') throw parseError(read);
    if (this.#head === undefined) {
      this.#headBytes += bytes.length;
      if (this.#headBytes > this.#limits.headBytes) throw tooLongHead(this.#limits.headBytes);
    }
    return undefined;
  }

  /** There is no more to come, which ends an answer that does not tell its length. Throws BrokenOffError. */
  ended(): WholeAnswer {
    const wrong = this.#parser.finish();
    if (wrong !== undefined || !this.#isWhole) throw new BrokenOffError('aborted');
    return this.#whole(false);
  }

  /** May be called by what it tells. */
  close(): void {
    setImmediate(closed, this.#parser);
  }

  #whole(isClean: boolean): WholeAnswer {
    const { status, keepsAlive, rawHeaders } = this.#head!;
    const body = this.#body.subarray(0, this.#bodyBytes);
    // A connection that rests holds none.
    this.#body = nothing;
    const header = (name: string): string => {
      const at = rawHeaders.findIndex((text, i) => i % 2 === 0 && text.toLowerCase() === name);
      return at < 0 ? '' : rawHeaders[at + 1]!;
    };
    return { status, header, body, keepsAlive: keepsAlive && isClean };
  }

  readonly #onHead = (
    _major: number,
    _minor: number,
    headers: string[] | undefined,
    _method: unknown,
    _url: unknown,
    status: number,
    _statusText: unknown,
    _asksForUpgrade: boolean,
    keepsAlive: boolean,
  ): number => {
    const rawHeaders = headers ?? this.#headers;
    this.#headers = [];
    if (this.#head !== undefined) return hasNoBody;
    if (isInformational(status)) {
      if (++this.#informational > maxInformational) this.#refused ??= tooManyInformational();
      return hasNoBody;
    }
    if (status === switching) this.#refused ??= new Error(`unexpected status code ${status}`);
    this.#head = { status, rawHeaders, keepsAlive };
    return goesOn;
  };

  /** Put together as it comes: a server that sends each byte as a chunk would have millions of pieces kept. */
  #onBody(bytes: Buffer): void {
    if (this.#isWhole) return;
    const [at, most] = [this.#bodyBytes, this.#limits.bodyBytes];
    this.#bodyBytes += bytes.length;
    if (this.#bodyBytes > most)
      this.#refused ??= new Error(`http: response body too large: the limit is ${most} bytes`);
    else if (at === 0) this.#body = bytes;
    else {
      if (this.#bodyBytes > this.#body.length) {
        const larger = Buffer.allocUnsafeSlow(Math.min(most, 2 * this.#bodyBytes));
        this.#body.copy(larger, 0, 0, at);
        this.#body = larger;
      }
      bytes.copy(this.#body, at);
    }
  }
}

const closed = (parser: HTTPParser): void => parser.close();

/** As `node:http` tells of it. */
function parseError(error: Error): Error {
  const { reason } = error as { readonly reason?: unknown };
  return typeof reason === 'string' ? new Error(`Parse Error: ${reason}`, { cause: error }) : error;
}
