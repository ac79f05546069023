// Who a bearer token speaks for: the port that the authentication filter and TokenReview share.
import type { UserInfo } from './user-info.ts';

/** What whoever checked the token has to say of it. */
interface SaidOfToken {
  /** To who sent it. */
  readonly warning?: string;
  /** To the audit log, below `authentication.k8s.io/`. */
  readonly annotation?: readonly [key: string, value: string];
  /** Set for tokens that have no end: who uses one. */
  readonly legacySubject?: string;
}

export type TokenVerdict = { readonly said?: SaidOfToken } & (
  | {
      readonly user: UserInfo;
      /** Those of the asked audiences that the token is good for. */
      readonly audiences: readonly string[];
    }
  | { readonly refused: string }
);

export interface TokenAuthenticator {
  /** undefined: not a token of this kind. */
  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): TokenVerdict | undefined | Promise<TokenVerdict | undefined>;
}
