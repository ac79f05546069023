// ID tokens of OpenID providers, by AuthenticationConfiguration: signature, time, audience, then the user that claims name.

import type { JwtAuthenticator } from '../../api/config/authentication-configuration.ts';
import { goQuoted } from '../../apimachinery/go-format.ts';
import type { TokenAuthenticator, TokenVerdict } from '../../apiserver/authentication/token-authenticator.ts';
import type { Clock } from '../../base/clock.ts';
import { type JwtClaims, readJwt, unverifiedClaims } from '../../crypto/jwt.ts';
import type { CompileExpression } from './oidc/claim-expressions.ts';
import { type ClaimsToUser, createClaimsToUser } from './oidc/claims-to-user.ts';
import { type GetJson, type KeysFetched, ProviderKeys } from './oidc/provider-keys.ts';

export interface OidcDependencies {
  readonly clock: Clock;
  readonly getJson: GetJson;
  readonly compile: CompileExpression;
  /** With which tokens may be signed. */
  readonly algorithms: readonly string[];
  /** How long one token took. */
  readonly observe: (issuer: string, result: 'success' | 'failure', seconds: number) => void;
  readonly keysFetched?: KeysFetched;
}

/** Clocks of providers go differently: as much as go-oidc allows for `nbf`. */
const notBeforeLeewayMs = 5 * 60_000;

interface Issuer {
  readonly keys: ProviderKeys;
  readonly audiences: readonly string[];
  readonly userOf: ClaimsToUser;
}

const maxDateMs = 8.64e15;
const isEndless = (value: unknown): boolean =>
  value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY;

function timeFault({ exp, nbf }: JwtClaims, now: number): string | undefined {
  // JSON has no such number, but text such as 1e400 is read as one.
  if (isEndless(exp) || isEndless(nbf))
    return 'oidc: failed to unmarshal claims: strconv.ParseFloat: value out of range';
  if (typeof exp !== 'number') return 'oidc: token is expired (Token Expiry: none)';
  // In Go seconds beyond an int64 are the least of them.
  const endMs = Math.max(exp < 2 ** 63 ? exp * 1000 : Number.NEGATIVE_INFINITY, -maxDateMs);
  if (endMs <= now) return `oidc: token is expired (Token Expiry: ${new Date(endMs).toISOString()})`;
  if (nbf !== undefined && (typeof nbf !== 'number' || nbf * 1000 > now + notBeforeLeewayMs))
    return `oidc: current time ${new Date(now).toISOString()} before the nbf (not before) time`;
  return undefined;
}

/** Throws why the token is not believed. */
async function verifiedClaims(
  token: string,
  { keys, audiences }: Issuer,
  { clock, algorithms }: OidcDependencies,
): Promise<JwtClaims> {
  const read = readJwt(token);
  if ('refused' in read) throw new Error(`oidc: malformed jwt: ${read.refused}`);
  const { header, claims } = read;
  // Before the provider is asked for keys: no key of it could make such a signature good.
  if (!algorithms.includes(String(header.alg)))
    throw new Error(
      `oidc: malformed jwt: go-jose/go-jose: unexpected signature algorithm ${JSON.stringify(String(header.alg))}; expected ${goQuoted(algorithms)}`,
    );
  const fault = timeFault(claims, clock.now());
  if (fault !== undefined) throw new Error(fault);
  const { aud } = claims;
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud];
  if (!named.some((audience) => audiences.includes(audience as string)))
    throw new Error(
      `oidc: expected audience in ${goQuoted(audiences)} got ${goQuoted(named.filter((one) => one !== undefined).map(String))}`,
    );
  if (!(await keys.haveSigned(read)))
    throw new Error('failed to verify signature: failed to verify id token signature');
  return claims;
}

/** One for all issuers of a configuration: whose token it is stands in the token. */
export function createOidcAuthenticator(
  configuration: readonly JwtAuthenticator[],
  deps: OidcDependencies,
): TokenAuthenticator {
  const { clock, getJson, compile, observe } = deps;
  const issuers = new Map<unknown, Issuer>(
    configuration.map((config) => {
      const { url = '', discoveryURL, certificateAuthority, audiences = [] } = config.issuer ?? {};
      const provider = {
        issuer: url,
        discoveryUrl: discoveryURL || undefined,
        ca: certificateAuthority || undefined,
      };
      const keys = new ProviderKeys(provider, getJson, clock, deps.keysFetched);
      return [url, { keys, audiences, userOf: createClaimsToUser(config, compile) }];
    }),
  );
  const verdictOf = async (
    token: string,
    issuer: Issuer,
    audiences: readonly string[],
  ): Promise<TokenVerdict> => {
    let claims: JwtClaims;
    try {
      claims = await verifiedClaims(token, issuer, deps);
    } catch (error) {
      return { refused: `oidc: verify token: ${(error as Error).message}` };
    }
    try {
      return { user: issuer.userOf(claims), audiences };
    } catch (error) {
      return { refused: (error as Error).message };
    }
  };
  return {
    async authenticateToken(token, audiences) {
      const name = unverifiedClaims(token)?.iss;
      const issuer = issuers.get(name);
      if (issuer === undefined) return undefined;
      const began = clock.monotonic();
      const verdict = await verdictOf(token, issuer, audiences);
      const result = 'user' in verdict ? 'success' : 'failure';
      observe(String(name), result, (clock.monotonic() - began) / 1000);
      return verdict;
    },
  };
}
