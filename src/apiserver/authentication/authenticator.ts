// Who sends a request.
import type { ApiRequest } from '../http.ts';

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** undefined: this authenticator has no opinion. Throws StatusError 401 for credentials that are wrong. */
export interface Authenticator {
  authenticate(request: ApiRequest): Promise<UserInfo | undefined> | UserInfo | undefined;
}

export const anonymousUser: UserInfo = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
