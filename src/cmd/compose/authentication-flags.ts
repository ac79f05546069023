// What the flags of kube-apiserver that are about authentication say together: slips are told before anything starts.
import type { JwtAuthenticator } from '../../api/config/authentication-configuration.ts';
import { ofFlag } from './of-flag.ts';

/** As commander reads them. */
export interface AuthenticationFlags {
  readonly authenticationConfig?: string;
  readonly oidcIssuerUrl?: string;
  readonly oidcClientId?: string;
  readonly oidcCaFile?: string;
  readonly oidcUsernameClaim?: string;
  readonly oidcUsernamePrefix?: string;
  readonly oidcGroupsClaim?: string;
  readonly oidcGroupsPrefix?: string;
  readonly oidcSigningAlgs?: readonly string[];
  readonly oidcRequiredClaim?: readonly string[];
  readonly authenticationTokenWebhookConfigFile?: string;
  readonly authenticationTokenWebhookVersion?: 'v1' | 'v1beta1';
  readonly authenticationTokenWebhookCacheTtl?: number;
  readonly enableBootstrapTokenAuth?: boolean;
  readonly tokenAuthFile?: string;
  readonly anonymousAuth?: 'true' | 'false';
  readonly apiAudiences?: readonly string[];
  readonly serviceAccountIssuer?: readonly string[];
  readonly serviceAccountJwksUri?: string;
  readonly serviceAccountKeyFile?: readonly string[];
  readonly serviceAccountMaxTokenExpiration?: number;
  readonly serviceAccountSigningEndpoint?: string;
  readonly serviceAccountSigningKeyFile?: string;
  readonly requestheaderAllowedNames?: readonly string[];
  readonly requestheaderUsernameHeaders?: readonly string[];
  readonly requestheaderUidHeaders?: readonly string[];
  readonly requestheaderGroupHeaders?: readonly string[];
  readonly requestheaderExtraHeadersPrefix?: readonly string[];
}

/** Undefined: nobody named a provider by flags. Throws for what does not go together. */
export function providerOfFlags(
  flags: AuthenticationFlags,
  read: (file: string) => string,
): JwtAuthenticator | undefined {
  const { oidcIssuerUrl: url, oidcClientId: client, oidcUsernameClaim: claim = 'sub' } = flags;
  const isNamed = Object.entries(flags).some(
    ([name, value]) => name.startsWith('oidc') && value !== undefined,
  );
  if (!isNamed) return undefined;
  if (flags.authenticationConfig !== undefined)
    throw new Error('authentication-config file and oidc-* flags are mutually exclusive');
  if (url === undefined || client === undefined)
    throw new Error(
      'oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set',
    );
  const { oidcUsernamePrefix, oidcGroupsClaim, oidcGroupsPrefix = '', oidcCaFile } = flags;
  // Names of two providers must not meet; an address of an account is one's own anywhere.
  const defaultPrefix = claim === 'email' ? '' : `${url}#`;
  const prefix = oidcUsernamePrefix === '-' ? '' : oidcUsernamePrefix || defaultPrefix;
  return {
    issuer: {
      url,
      audiences: [client],
      ...(oidcCaFile && { certificateAuthority: ofFlag('oidc-ca-file', oidcCaFile, () => read(oidcCaFile)) }),
    },
    claimMappings: {
      username: { claim, prefix },
      ...(oidcGroupsClaim && { groups: { claim: oidcGroupsClaim, prefix: oidcGroupsPrefix } }),
    },
    claimValidationRules: (flags.oidcRequiredClaim ?? []).map((pair) => {
      const equals = pair.indexOf('=');
      if (equals < 1) throw new Error(`--oidc-required-claim ${pair}: key=value is wanted`);
      return { claim: pair.slice(0, equals), requiredValue: pair.slice(equals + 1) };
    }),
  };
}

/** Throws what is wrong with what is said of service account tokens. */
export function checkIssuers({
  serviceAccountIssuer = [],
  serviceAccountJwksUri,
}: AuthenticationFlags): void {
  for (const [i, issuer] of serviceAccountIssuer.entries()) {
    if (issuer.includes(':') && !URL.canParse(issuer))
      throw new Error(
        `service-account-issuer ${JSON.stringify(issuer)} contained a ':' but was not a valid URL: parse ${JSON.stringify(issuer)}: invalid URL`,
      );
    if (serviceAccountIssuer.indexOf(issuer) < i)
      throw new Error(`service-account-issuer ${JSON.stringify(issuer)} is already specified`);
  }
  if (serviceAccountJwksUri === undefined) return;
  if (!URL.canParse(serviceAccountJwksUri))
    throw new Error(
      `service-account-jwks-uri must be a valid URL: parse ${JSON.stringify(serviceAccountJwksUri)}: invalid URL`,
    );
  if (new URL(serviceAccountJwksUri).protocol !== 'https:')
    throw new Error(`service-account-jwks-uri requires https scheme, parsed as: ${serviceAccountJwksUri}`);
}
