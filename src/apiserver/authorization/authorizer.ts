// May this user do this?
import type { UserInfo } from '../authentication/authenticator.ts';
import type { AskedSelector } from './selector-requirements.ts';

export interface AuthorizationAttributes {
  readonly user: UserInfo;
  /** get list watch create update patch delete deletecollection, or the HTTP method in lower case for paths. */
  readonly verb: string;
  readonly isResource: boolean;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Path of a non-resource request. */
  readonly path: string;
  /** Exact values that a list, watch or deletecollection asks for in its fieldSelector. */
  readonly fields?: Readonly<Record<string, string>>;
  /** All that it asks for in its selectors. */
  readonly fieldSelector?: AskedSelector | undefined;
  readonly labelSelector?: AskedSelector | undefined;
}

export interface AuthorizationDecision {
  readonly decision: 'allow' | 'deny' | 'no-opinion';
  readonly reason: string;
  /** Why somebody could not be asked: what is refused for it is no verdict, and is told as a fault. */
  readonly error?: string | undefined;
}

/** What somebody may in a namespace, as far as it can be listed. */
export interface UserRules {
  /** As roles say them. */
  readonly rules: readonly object[];
  /** There may be more. */
  readonly incomplete: boolean;
  readonly errors: readonly string[];
}

export interface Authorizer {
  authorize(attributes: AuthorizationAttributes): AuthorizationDecision | Promise<AuthorizationDecision>;
  /** Absent: it has no rules. */
  rulesFor?(user: UserInfo, namespace: string): UserRules;
}
