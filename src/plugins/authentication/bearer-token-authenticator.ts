// Reads `Authorization: Bearer` and asks the token authenticators in order; a token that nobody accepts is refused.
import { unauthorized } from '../../apimachinery/errors.ts';
import type { AuthenticationRemarks, Authenticator } from '../../apiserver/authentication/authenticator.ts';
import type { TokenAuthenticator, TokenVerdict } from '../../apiserver/authentication/token-authenticator.ts';

/** The token, or undefined when the header carries none. */
function bearerToken(header: string | readonly string[] | undefined): string | undefined {
  const text = typeof header === 'string' ? header : header?.[0];
  const match = /^bearer +([^\s]+) *$/i.exec(text ?? '');
  return match?.[1];
}

const group = 'authentication.k8s.io/';

function tell({ said }: TokenVerdict, remarks: AuthenticationRemarks | undefined): void {
  if (said === undefined || remarks === undefined) return;
  const { annotation, legacySubject, warning } = said;
  if (legacySubject !== undefined) remarks.annotate(`${group}legacy-token`, legacySubject);
  if (annotation !== undefined) remarks.annotate(group + annotation[0], annotation[1]);
  if (warning !== undefined) remarks.warn(warning);
}

export function createBearerTokenAuthenticator(
  tokens: readonly TokenAuthenticator[],
  apiAudiences: readonly string[],
): Authenticator {
  return {
    async authenticate(request, remarks) {
      const token = bearerToken(request.headers.authorization);
      if (token === undefined) return undefined;
      for (const authenticator of tokens) {
        const verdict = await authenticator.authenticateToken(token, apiAudiences);
        if (verdict === undefined) continue;
        tell(verdict, remarks);
        if ('user' in verdict) return verdict.user;
      }
      throw unauthorized();
    },
  };
}
