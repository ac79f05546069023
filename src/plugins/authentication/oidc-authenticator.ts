// ID tokens of OpenID providers, by AuthenticationConfiguration: signature, time, audience, then the user that claims name.

import type { JwtAuthenticator } from '../../api/config/authentication-configuration.ts';
import type { TokenAuthenticator, TokenVerdict } from '../../apiserver/authentication/token-authenticator.ts';
import type { Clock } from '../../base/clock.ts';
import { type JwtClaims, unverifiedClaims } from '../../crypto/jwt.ts';
import type { CompileExpression } from './oidc/claim-expressions.ts';
import { type ClaimsToUser, createClaimsToUser } from './oidc/claims-to-user.ts';
import {
  createExpandClaims,
  type ExpandClaims,
  type GetText,
  otherIssuers,
} from './oidc/distributed-groups.ts';
import { type IdTokenRules, issuerOf, verifiedClaims } from './oidc/id-token.ts';
import { type GetJson, type KeysFetched, ProviderKeys } from './oidc/provider-keys.ts';

export interface OidcDependencies {
  readonly clock: Clock;
  readonly getJson: GetJson;
  readonly getText: GetText;
  readonly compile: CompileExpression;
  /** With which tokens may be signed. */
  readonly algorithms: readonly string[];
  /** How long one token took. */
  readonly observe: (issuer: string, result: 'success' | 'failure', seconds: number) => void;
  readonly keysFetched?: KeysFetched;
}

interface Issuer {
  readonly keys: ProviderKeys;
  readonly rules: IdTokenRules;
  readonly expand: ExpandClaims | undefined;
  readonly userOf: ClaimsToUser;
}

function createIssuer(config: JwtAuthenticator, deps: OidcDependencies): Issuer {
  const { clock, getJson, getText, compile, algorithms, keysFetched } = deps;
  const { url = '', discoveryURL, certificateAuthority, audiences = [] } = config.issuer ?? {};
  const ca = certificateAuthority || undefined;
  const provider = { issuer: url, discoveryUrl: discoveryURL || undefined, ca };
  const keys = new ProviderKeys(provider, getJson, clock, keysFetched);
  const rules = { clock, algorithms, audiences };
  const claim = config.claimMappings?.groups?.claim ?? '';
  const others = otherIssuers(getJson, clock);
  const own = { issuer: url, keys };
  const keysOf = (issuer: string): ProviderKeys => others(issuer, ca);
  return {
    keys,
    rules,
    expand: claim === '' ? undefined : createExpandClaims({ claim, ca, rules, clock, own, getText, keysOf }),
    userOf: createClaimsToUser(config, compile),
  };
}

/** One for all issuers of a configuration: whose token it is stands in the token. */
export function createOidcAuthenticator(
  configuration: readonly JwtAuthenticator[],
  deps: OidcDependencies,
): TokenAuthenticator {
  const { clock, observe } = deps;
  const issuers = new Map<unknown, Issuer>(
    configuration.map((config) => [config.issuer?.url ?? '', createIssuer(config, deps)]),
  );
  const verdictOf = async (
    token: string,
    issuer: Issuer,
    audiences: readonly string[],
  ): Promise<TokenVerdict> => {
    let claims: JwtClaims;
    try {
      claims = await verifiedClaims(token, issuer.keys, issuer.rules);
    } catch (error) {
      return { refused: `oidc: verify token: ${(error as Error).message}` };
    }
    try {
      const expanded = issuer.expand === undefined ? claims : await issuer.expand(claims);
      return { user: issuer.userOf(expanded), audiences };
    } catch (error) {
      return { refused: (error as Error).message };
    }
  };
  return {
    async authenticateToken(token, audiences) {
      const name = issuerOf(unverifiedClaims(token));
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
