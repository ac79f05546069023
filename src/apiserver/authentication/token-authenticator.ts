// Who a bearer token speaks for: the port that the authentication filter and TokenReview share.
import type { UserInfo } from './user-info.ts';

export type TokenVerdict =
  | {
      readonly user: UserInfo;
      /** Those of the asked audiences that the token is good for. */
      readonly audiences: readonly string[];
    }
  | { readonly refused: string };

export interface TokenAuthenticator {
  /** undefined: not a token of this kind. */
  authenticateToken(
    token: string,
    audiences: readonly string[],
  ): TokenVerdict | undefined | Promise<TokenVerdict | undefined>;
}
