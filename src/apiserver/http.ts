// A request as the API server sees it: the wire's, with the user whom the in-process transport vouches for.
import type { HttpRequest } from '../wire/http-message.ts';
import type { UserInfo } from './authentication/user-info.ts';

export type {
  ClientCertificate,
  HttpBody as ApiBody,
  HttpResponse as ApiResponse,
  PullBody,
} from '../wire/http-message.ts';
export { BodyTooLargeError, isPullBody } from '../wire/http-message.ts';

export interface ApiRequest extends HttpRequest {
  /** Set by the in-process transport: authentication is already done. */
  readonly user?: UserInfo | undefined;
}

export type SentHeader = readonly [name: string, value: string];

/** Every header as it was sent: a comma in a group's name makes no second group. */
export function sentHeaders({ rawHeaders, headers }: ApiRequest): SentHeader[] {
  if (rawHeaders !== undefined)
    return rawHeaders.flatMap((name, i): SentHeader[] =>
      i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1] ?? '']] : [],
    );
  return Object.entries(headers).flatMap(([name, value]): SentHeader[] =>
    value === undefined ? [] : (typeof value === 'string' ? [value] : value).map((one) => [name, one]),
  );
}
