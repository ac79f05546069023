// One request on its way through the filters: what is asked, by whom, and what is to be said beside the answer.
import { internalError, StatusError } from '../apimachinery/errors.ts';
import type { AuditedRequest } from './audit/audited-request.ts';
import type { UserInfo } from './authentication/authenticator.ts';
import type { ProtobufEncoder } from './encode-answer.ts';
import { type ApiRequest, BodyTooLargeError } from './http.ts';
import { LargeBodies } from './large-bodies.ts';
import { pathOf, type RequestInfo, requestInfo } from './request-info.ts';

/** What is smaller is done in a few milliseconds, whatever is done with it. */
export const heavyBytes: number = 64 * 1024;

/** As upstream: beyond so many characters in all, each warning is cut to fewer. */
export const maxWarningLength = 4096;
export const cutWarningLength = 256;

/** What a client is told that waits no longer. */
export const tooLateFor = (): StatusError =>
  new StatusError(
    504,
    'Timeout',
    'Timeout: request did not complete within requested timeout - context deadline exceeded',
    {},
  );

/** Whoever sends a body and breaks off, or takes too long, is no fault of this server's that its log tells of at length. */
function unread(error: unknown): never {
  throw error instanceof BodyTooLargeError ? error : internalError(error);
}

export class RequestContext {
  readonly request: ApiRequest;
  readonly #places: LargeBodies;
  #leave: (() => void) | undefined;
  #bodyBytes = 0;
  /** Set by the request-info filter. */
  info!: RequestInfo;
  /** Set by the authentication filter. */
  user!: UserInfo;
  /** By which right it is somebody else's, if that is a constrained one. */
  impersonationConstraint = '';
  auditId = '';
  /** Set by the audit filter, when the policy wants to know of it. */
  audit: AuditedRequest | undefined;
  /** How long it took to know who it is; told to the audit log, which is asked later. */
  authenticatedInMs = 0;
  /** When it came, by the server's monotonic clock. */
  startedAt = 0;
  /** Texts of `Warning:` headers, each once; no more than the answer has room for. */
  readonly warnings: string[] = [];
  #warned: Set<string> | undefined;
  #warnedLength = 0;
  /** What it asks for will go: its client is warned, the audit log and the metrics tell who still asks. */
  deprecated = false;
  /** What admission has to say to the audit log of this request. */
  readonly auditAnnotations: Map<string, string> = new Map();
  /** Its body or its object is large: each step of it waits for a turn, so that others are served between two. */
  heavy = false;
  /** Upstream's --request-timeout: what is no watch and no stream takes no longer, however slowly its answer is read. */
  timeLimitMs = 60_000;
  #signal: AbortSignal | undefined;
  #late: AbortSignal | undefined;
  #work: Promise<unknown> | undefined;
  #query: URLSearchParams | undefined;
  /** What writes its answer, if that is to be protobuf. */
  readonly protobuf: ProtobufEncoder | undefined;
  constructor(request: ApiRequest, places: LargeBodies = new LargeBodies(1), protobuf?: ProtobufEncoder) {
    this.request = request;
    this.#places = places;
    this.protobuf = protobuf;
  }
  /** Whether somebody still waits for the answer. */
  get signal(): AbortSignal {
    return this.#signal ?? this.request.signal;
  }
  /** Whether it waited for its connection's turn. */
  get waited(): boolean {
    return this.request.waited === true;
  }
  /** Its client waits no longer than that, and then `late` tells. */
  endsWithin(ms: number, late: AbortSignal): void {
    this.timeLimitMs = ms;
    this.#late = late;
    this.#signal = AbortSignal.any([this.request.signal, late]);
  }
  /** Throws when its client has been told that it is too late, and so has the audit log: nothing is done that neither knows of. */
  checkTime(): void {
    if (this.#late?.aborted === true) throw tooLateFor();
  }
  get query(): URLSearchParams {
    if (this.#query === undefined) {
      const at = this.request.url.indexOf('?');
      this.#query = new URLSearchParams(at < 0 ? '' : this.request.url.slice(at + 1));
    }
    return this.#query;
  }
  /** The whole body. A large one makes the request a heavy one, and waits until there is a place for it. */
  async readBody(limit: number): Promise<Buffer> {
    // What of a body comes after the answer is thrown away.
    this.checkTime();
    const body = await this.request.readBody(limit).catch(unread);
    this.checkTime();
    if (body.length <= heavyBytes) return body;
    this.heavy = true;
    this.#bodyBytes = body.length;
    this.#leave ??= await this.#places.take(this.#late);
    return body;
  }
  /** While it waits for somebody else, others have the place of its body; it goes on when it has one again. */
  async aside<T>(wait: () => Promise<T>): Promise<T> {
    const leave = this.#leave;
    const back = leave && this.#places.aside(this.#bodyBytes);
    if (leave === undefined || back === undefined) return wait();
    this.#leave = undefined;
    leave();
    let answer: T;
    try {
      answer = await wait();
    } catch (error) {
      // That it is too late by now is not why.
      await this.#comeBack(back).catch(() => undefined);
      throw error;
    }
    await this.#comeBack(back);
    return answer;
  }
  async #comeBack(back: () => void): Promise<void> {
    try {
      this.#leave = await this.#places.take(this.#late);
    } catch {
      throw tooLateFor();
    } finally {
      back();
    }
  }
  /** What works on its answer, and may go on when its client has been told that it is too late. */
  outlivedBy(work: Promise<unknown>): void {
    this.#work = work;
  }
  /** The request has its answer. Whoever still works on it keeps the place of its body, or gets one only then. */
  end(): void {
    const leave = (): void => this.#leave?.();
    if (this.#work === undefined) leave();
    else this.#work.then(leave, leave);
  }
  readInfo(): void {
    this.info = requestInfo(this.request.method, pathOf(this.request.url), () => this.query);
  }
  header(name: string): string {
    const value = this.request.headers[name];
    return value === undefined ? '' : typeof value === 'string' ? value : value.join(', ');
  }
  /** What was said first stays. */
  annotate(key: string, value: string): void {
    if (!this.auditAnnotations.has(key)) this.auditAnnotations.set(key, value);
  }
  isDeprecated(warning: string): void {
    this.deprecated = true;
    this.warn(warning);
    this.annotate('k8s.io/deprecated', 'true');
  }
  /** A body can be worth tens of thousands of them: what comes after the last that is told costs nothing, as upstream. */
  warn(text: string): void {
    if (text === '' || this.#warnedLength >= maxWarningLength || this.#warned?.has(text)) return;
    this.#warned ??= new Set();
    this.#warned.add(text);
    this.#warnedLength += Math.min(text.length, cutWarningLength);
    this.warnings.push(text);
  }
}
