// One request on its way through the filters: what is asked, by whom, and what is to be said beside the answer.
import type { UserInfo } from './authentication/authenticator.ts';
import type { ApiRequest } from './http.ts';
import { pathOf, type RequestInfo, requestInfo } from './request-info.ts';

export class RequestContext {
  readonly request: ApiRequest;
  /** Set by the request-info filter. */
  info!: RequestInfo;
  /** Set by the authentication filter. */
  user!: UserInfo;
  auditId = '';
  /** Texts of `Warning:` headers, each once. */
  readonly warnings: string[] = [];
  #query: URLSearchParams | undefined;
  constructor(request: ApiRequest) {
    this.request = request;
  }
  get query(): URLSearchParams {
    if (this.#query === undefined) {
      const at = this.request.url.indexOf('?');
      this.#query = new URLSearchParams(at < 0 ? '' : this.request.url.slice(at + 1));
    }
    return this.#query;
  }
  readInfo(): void {
    this.info = requestInfo(this.request.method, pathOf(this.request.url), () => this.query);
  }
  header(name: string): string {
    const value = this.request.headers[name];
    return value === undefined ? '' : typeof value === 'string' ? value : value.join(', ');
  }
  warn(text: string): void {
    if (!this.warnings.includes(text)) this.warnings.push(text);
  }
}
