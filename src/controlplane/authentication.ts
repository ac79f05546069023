// Who asks: by a front proxy's word, by certificate, by token, or nobody in particular.
import type { Authenticator } from '../apiserver/authentication/authenticator.ts';
import type { TokenAuthenticator } from '../apiserver/authentication/token-authenticator.ts';
import type { ApiResponse } from '../apiserver/http.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import { bytesResponse } from '../apiserver/response.ts';
import type { PathHandler } from '../apiserver/server-config.ts';
import type { Clock } from '../base/clock.ts';
import { jwks, type VerificationKey, verificationKey } from '../crypto/jwt.ts';
import type { KeyObject } from '../crypto/keys.ts';
import {
  type AllowsAnonymous,
  createAnonymousAuthenticator,
} from '../plugins/authentication/anonymous-authenticator.ts';
import { createBearerTokenAuthenticator } from '../plugins/authentication/bearer-token-authenticator.ts';
import { createBootstrapTokenAuthenticator } from '../plugins/authentication/bootstrap-token-authenticator.ts';
import { createLegacyTokenAuthenticator } from '../plugins/authentication/legacy-token-authenticator.ts';
import {
  createRequestHeaderAuthenticator,
  type RequestHeaderOptions,
} from '../plugins/authentication/request-header-authenticator.ts';
import { createServiceAccountTokenAuthenticator } from '../plugins/authentication/service-account-token-authenticator.ts';
import { audienceAgnostic } from '../plugins/authentication/tokens/audience-agnostic.ts';
import { fixedKeys, type TokenKeys } from '../plugins/authentication/tokens/token-keys.ts';
import { orAnonymous, unionAuthenticator } from '../plugins/authentication/union-authenticator.ts';
import { createX509Authenticator } from '../plugins/authentication/x509-authenticator.ts';

/** Where the server serves the keys of its tokens. */
export const jwksPath = '/openid/v1/jwks';

/** How a front proxy says for whom it asks. */
export type RequestHeaders = Omit<RequestHeaderOptions, 'ca'>;

/** What whoever runs the server has said about who may come in. What is undefined is as in a server of its own. */
export interface AuthenticationSettings {
  /** Tokens that name no audience, asked before those of service accounts. */
  readonly staticTokens?: TokenAuthenticator | undefined;
  /** Whether those of bootstrap Secrets are believed. Default: they are. */
  readonly bootstrapTokens?: boolean | undefined;
  /** Likewise, asked after bootstrap tokens: those of OpenID providers. */
  readonly providerTokens?: TokenAuthenticator | undefined;
  /** Asked last; `apiAudiences`: what tokens that name none are for. */
  readonly webhookTokens?: ((apiAudiences: readonly string[]) => TokenAuthenticator) | undefined;
  readonly anonymous?: AllowsAnonymous | undefined;
  readonly requestHeaders?: Partial<RequestHeaders> | undefined;
  /** Of service account tokens; the first signs. Default: the server's name in the cluster. */
  readonly issuers?: readonly string[] | undefined;
  /** Where others find the keys of tokens. Default: at the server's own address. */
  readonly jwksUri?: string | undefined;
  /** Who tokens are for that open this server. Default: the issuers. */
  readonly apiAudiences?: readonly string[] | undefined;
  /** Keys whose signatures are good besides the server's own: those that signed before it. */
  readonly olderKeys?: readonly KeyObject[] | undefined;
  readonly maxTokenExpirationSeconds?: number | undefined;
  /** Who signs tokens in the place of this server; its keys alone are believed then. */
  readonly externalSigner?: ExternalTokenSigner | undefined;
}

export interface ExternalTokenSigner {
  readonly keys: TokenKeys;
  sign(claims: Readonly<Record<string, unknown>>): Promise<string>;
}

/** What service account tokens say of themselves, and who checks them. */
export interface TokenIdentity {
  readonly issuers: readonly string[];
  readonly apiAudiences: readonly string[];
  readonly keys: TokenKeys;
}

export function tokenIdentity(
  { issuers, apiAudiences, externalSigner, olderKeys = [] }: AuthenticationSettings,
  key: KeyObject,
  defaultIssuer: string,
): TokenIdentity {
  const named = issuers !== undefined && issuers.length > 0 ? issuers : [defaultIssuer];
  const keys = [key, ...olderKeys].map(verificationKey);
  return {
    issuers: named,
    apiAudiences: apiAudiences !== undefined && apiAudiences.length > 0 ? apiAudiences : named,
    keys:
      externalSigner?.keys ??
      fixedKeys(keys.filter(({ kid }, i) => keys.findIndex((one) => one.kid === kid) === i)),
  };
}

/** As kubeadm sets up kube-apiserver. */
export const requestHeadersOf = ({ requestHeaders }: AuthenticationSettings): RequestHeaders => ({
  allowedNames: ['front-proxy-client'],
  usernameHeaders: ['X-Remote-User'],
  uidHeaders: ['X-Remote-Uid'],
  groupHeaders: ['X-Remote-Group'],
  extraHeadersPrefixes: ['X-Remote-Extra-'],
  ...requestHeaders,
});

/** Whom tokens name that lie in Secrets. */
const legacyIssuer = 'kubernetes/serviceaccount';

export function authentication(deps: {
  readonly settings: AuthenticationSettings;
  readonly identity: TokenIdentity;
  readonly authorities: { clientCa(): string; frontProxyCa(): string };
  readonly live: LiveObjects;
  readonly clock: Clock;
  /** Counts tokens of Secrets, and writes into them when they were used. */
  readonly legacy: Pick<Parameters<typeof createLegacyTokenAuthenticator>[0], 'counts' | 'noteUse'>;
}): { readonly tokens: readonly TokenAuthenticator[]; readonly authenticator: Authenticator } {
  const { settings, identity, authorities, live, clock, legacy } = deps;
  const { issuers, apiAudiences, keys } = identity;
  const forServer = (tokens: TokenAuthenticator | undefined): TokenAuthenticator[] =>
    tokens === undefined ? [] : [audienceAgnostic(tokens, apiAudiences)];
  const tokens = [
    ...forServer(settings.staticTokens),
    createServiceAccountTokenAuthenticator({
      ...{ live, clock, issuers, keys },
      legacy: {
        issuer: legacyIssuer,
        tokens: createLegacyTokenAuthenticator({ ...legacy, live, clock, keys, apiAudiences }),
      },
    }),
    ...(settings.bootstrapTokens === false
      ? []
      : forServer(createBootstrapTokenAuthenticator({ live, clock }))),
    ...forServer(settings.providerTokens),
    ...(settings.webhookTokens === undefined ? [] : [settings.webhookTokens(apiAudiences)]),
  ];
  const known = unionAuthenticator([
    createRequestHeaderAuthenticator({ ...requestHeadersOf(settings), ca: authorities.frontProxyCa }),
    createX509Authenticator({ clientCa: authorities.clientCa }),
    createBearerTokenAuthenticator(tokens, apiAudiences),
  ]);
  return { tokens, authenticator: orAnonymous(known, createAnonymousAuthenticator(settings.anonymous)) };
}

const publicJson = (object: unknown, contentType: string, maxAgeSeconds: number): ApiResponse => {
  const { headers, ...answer } = bytesResponse(200, Buffer.from(JSON.stringify(object)), contentType);
  return { ...answer, headers: { ...headers, 'cache-control': `public, max-age=${maxAgeSeconds}` } };
};

const isIssuerUrl = (issuer: string): boolean => {
  if (!URL.canParse(issuer)) return false;
  const { protocol, search, hash } = new URL(issuer);
  return protocol === 'https:' && search === '' && hash === '';
};

/**
 * What others need to check service account tokens by themselves. As upstream there is none for an issuer that is no
 * URL by which it could be found.
 */
export function serviceAccountIssuerPaths(
  { issuers, keys }: TokenIdentity,
  jwksUri: string,
): [string, PathHandler][] {
  const [issuer = ''] = issuers;
  if (!isIssuerUrl(issuer)) return [];
  const shown = (): readonly VerificationKey[] => keys.now().filter(({ isHidden }) => isHidden !== true);
  const document = (): object => ({
    issuer,
    jwks_uri: jwksUri,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: [...new Set(shown().map((key) => key.alg))].sort(),
  });
  const told = (object: object, contentType: string): ApiResponse =>
    publicJson(object, contentType, keys.maxAgeSeconds());
  return [
    ['/.well-known/openid-configuration', () => told(document(), 'application/json')],
    [jwksPath, () => told(jwks(shown()), 'application/jwk-set+json')],
  ];
}
