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
