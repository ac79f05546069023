// Tokens that name no audience are good for the API server's own, and for nobody else's.
import type { TokenAuthenticator } from '../../../apiserver/authentication/token-authenticator.ts';

export function audienceAgnostic(
  tokens: TokenAuthenticator,
  apiAudiences: readonly string[],
): TokenAuthenticator {
  return {
    authenticateToken(token, asked) {
      const shared =
        asked === apiAudiences ? asked : apiAudiences.filter((audience) => asked.includes(audience));
      return shared.length === 0 ? undefined : tokens.authenticateToken(token, shared);
    },
  };
}
