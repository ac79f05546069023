// Who sends a request.
import type { StatusError } from '../../apimachinery/errors.ts';
import type { ApiRequest } from '../http.ts';
import type { UserInfo } from './user-info.ts';

export type { UserInfo } from './user-info.ts';

/** undefined: this authenticator has no opinion. Throws StatusError 401 for credentials that are wrong. */
export interface Authenticator {
  authenticate(request: ApiRequest): Promise<UserInfo | undefined> | UserInfo | undefined;
}

/** One of several. What it refuses it may answer with as well as throw. */
export interface AskedAuthenticator {
  authenticate(request: ApiRequest): Promise<UserInfo | undefined> | UserInfo | StatusError | undefined;
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
