// Who sends a request.
import type { StatusError } from '../../apimachinery/errors.ts';
import type { ApiRequest } from '../http.ts';
import type { UserInfo } from './user-info.ts';

export type { UserInfo } from './user-info.ts';

/** Whom an authenticator tells more than who it is: the request's context. */
export interface AuthenticationRemarks {
  /** Adds a `Warning:` header. */
  warn(text: string): void;
  /** For the audit log. */
  annotate(key: string, value: string): void;
}

/** undefined: this authenticator has no opinion. Throws StatusError 401 for credentials that are wrong. */
export interface Authenticator {
  authenticate(
    request: ApiRequest,
    remarks?: AuthenticationRemarks,
  ): Promise<UserInfo | undefined> | UserInfo | undefined;
}

/** One of several. What it refuses it may answer with as well as throw. */
export interface AskedAuthenticator {
  authenticate(
    request: ApiRequest,
    remarks?: AuthenticationRemarks,
  ): Promise<UserInfo | undefined> | UserInfo | StatusError | undefined;
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
