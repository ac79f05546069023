// Reads `Authorization: Bearer`, or what a WebSocket of a browser has instead, and asks the token authenticators in order; a token that nobody accepts is refused.
import { unauthorized } from '../../apimachinery/errors.ts';
import type { AuthenticationRemarks, Authenticator } from '../../apiserver/authentication/authenticator.ts';
import type { TokenAuthenticator, TokenVerdict } from '../../apiserver/authentication/token-authenticator.ts';
import type { ApiRequest } from '../../apiserver/http.ts';
import { isWebSocketRequest } from '../../wire/websocket.ts';
import { offeredToken } from '../../wire/websocket-token.ts';

const afterSpace =
  'the provided Authorization header contains extra space before the bearer token, and is ignored';

/** The token, or undefined when the header carries none. What follows it means nothing. */
function bearerToken(
  header: string | readonly string[] | undefined,
  remarks: AuthenticationRemarks | undefined,
): string | undefined {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim() ?? '';
  if (!/^bearer /i.test(text)) return undefined;
  const [, token = ''] = text.split(' ', 2);
  if (token !== '') return token;
  remarks?.warn(afterSpace);
  return undefined;
}

/** Its own header comes first, as upstream. Throws StatusError 401. */
function tokenOf(request: ApiRequest, remarks: AuthenticationRemarks | undefined): string | undefined {
  const token = bearerToken(request.headers.authorization, remarks);
  if (token !== undefined || !isWebSocketRequest(request)) return token;
  const offered = offeredToken(String(request.headers['sec-websocket-protocol'] ?? ''));
  if (offered === 'wrong') throw unauthorized();
  return offered?.token;
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
      const token = tokenOf(request, remarks);
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
