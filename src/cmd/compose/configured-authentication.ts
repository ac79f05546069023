// Files and flags about authentication made into authenticators. Of what is not asked for nothing is loaded.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { AnonymousConfiguration } from '../../api/config/authentication-configuration.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import type { AuthenticationSettings } from '../../controlplane/authentication.ts';
import { publicKeysOf } from '../../crypto/keys.ts';
import { type AllowsAnonymous, onlyPaths } from '../../plugins/authentication/anonymous-authenticator.ts';
import { createStaticTokenAuthenticator } from '../../plugins/authentication/static-token-authenticator.ts';
import { HttpsClient } from '../../wire/https-client.ts';
import { type AuthenticationFlags, checkIssuers, providerOfFlags } from './authentication-flags.ts';
import type { ConfiguredDependencies } from './configured-providers.ts';
import type { ExternalSigner } from './external-signer.ts';
import { ofFlag } from './of-flag.ts';

export interface ConfiguredAuthentication {
  readonly settings: AuthenticationSettings;
  stop(): void;
}

const read = (file: string): string => readFileSync(file, 'utf8');

/** As upstream waits for its webhooks. */
const webhookTimeoutMs = 30_000;
const defaultWebhookTtlMs = 2 * 60_000;
const maxAnswerBytes = 1 << 20;

const newClient = (): HttpsClient =>
  new HttpsClient({ maxAnswerBytes, maxConnections: 8, maxAllConnections: 32 });

const allows = ({ enabled = false, conditions = [] }: AnonymousConfiguration): AllowsAnonymous => {
  if (!enabled) return () => false;
  return conditions.length === 0 ? () => true : onlyPaths(conditions.map(({ path = '' }) => path));
};

/** As --anonymous-auth says. Undefined: nobody said anything. */
function anonymousByFlag(
  { anonymousAuth }: AuthenticationFlags,
  { authorizationModes = [], log }: ConfiguredDependencies,
): AllowsAnonymous | undefined {
  if (anonymousAuth === undefined) return undefined;
  const enabled = anonymousAuth === 'true';
  if (!enabled || !authorizationModes.includes('AlwaysAllow')) return allows({ enabled });
  // Whoever reaches the port would be administrator.
  log.warn(
    {},
    'AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. You should use a different authorizer',
  );
  return allows({ enabled: false });
}

async function webhookTokensOf(
  flags: AuthenticationFlags,
  { clock, metrics }: ConfiguredDependencies,
  client: HttpsClient,
): Promise<AuthenticationSettings['webhookTokens']> {
  const file = flags.authenticationTokenWebhookConfigFile;
  if (file === undefined) return undefined;
  const [{ createRemoteReviewer }, { createWebhookTokenAuthenticator }, { cachedTokens }, counts] =
    await Promise.all([
      import('../../plugins/webhook/remote-reviewer.ts'),
      import('../../plugins/authentication/webhook-token-authenticator.ts'),
      import('../../plugins/authentication/tokens/cached-tokens.ts'),
      import('../../plugins/authentication/tokens/token-cache-metrics.ts'),
    ]);
  const { transport } = await loadKubeconfig(file, readFile);
  const reviewer = createRemoteReviewer({ transport, client, clock, timeoutMs: webhookTimeoutMs });
  const ttl = flags.authenticationTokenWebhookCacheTtl ?? defaultWebhookTtlMs;
  const version = flags.authenticationTokenWebhookVersion ?? 'v1beta1';
  return (apiAudiences) =>
    cachedTokens(createWebhookTokenAuthenticator({ reviewer, version, apiAudiences }), {
      clock,
      metrics: counts.tokenCacheMetrics(metrics),
      ttlMs: (verdict) => ('user' in verdict ? ttl : 0),
    });
}

const requestHeadersOf = (flags: AuthenticationFlags): AuthenticationSettings['requestHeaders'] =>
  Object.fromEntries(
    Object.entries({
      allowedNames: flags.requestheaderAllowedNames,
      usernameHeaders: flags.requestheaderUsernameHeaders,
      uidHeaders: flags.requestheaderUidHeaders,
      groupHeaders: flags.requestheaderGroupHeaders,
      extraHeadersPrefixes: flags.requestheaderExtraHeadersPrefix,
    }).filter(([, value]) => value !== undefined),
  );

function serviceAccountSettings(flags: AuthenticationFlags): AuthenticationSettings {
  const { serviceAccountKeyFile = [], serviceAccountMaxTokenExpiration: longestMs } = flags;
  return {
    issuers: flags.serviceAccountIssuer,
    jwksUri: flags.serviceAccountJwksUri,
    apiAudiences: flags.apiAudiences,
    olderKeys: serviceAccountKeyFile.flatMap((file) =>
      ofFlag('service-account-key-file', file, () => publicKeysOf(read(file))),
    ),
    maxTokenExpirationSeconds: longestMs === undefined ? undefined : longestMs / 1000,
  };
}

/** gRPC is read only where somebody keeps keys elsewhere. */
async function externalSignerOf(
  flags: AuthenticationFlags,
  deps: ConfiguredDependencies,
): Promise<ExternalSigner | undefined> {
  const { serviceAccountSigningEndpoint: endpoint, serviceAccountMaxTokenExpiration: longestMs } = flags;
  if (endpoint === undefined) return undefined;
  const { checkSigningEndpoint, openExternalSigner } = await import('./external-signer.ts');
  checkSigningEndpoint(flags);
  return openExternalSigner(endpoint, longestMs === undefined ? undefined : longestMs / 1000, deps);
}

/** Throws for flags and files that can't be followed. */
export async function configuredAuthentication(
  flags: AuthenticationFlags,
  deps: ConfiguredDependencies,
): Promise<ConfiguredAuthentication> {
  checkIssuers(flags);
  const client = newClient();
  const provider = providerOfFlags(flags, read);
  // They bring a language for rules and a reader of YAML along.
  const providers =
    provider === undefined && flags.authenticationConfig === undefined
      ? undefined
      : (await import('./configured-providers.ts')).configuredProviders(flags, provider, client, deps);
  const byFlag = anonymousByFlag(flags, deps);
  // Upstream decides at its start whether there is an anonymous user; what it may see changes with the file.
  const anonymousInFile = providers?.now().anonymous !== undefined;
  const settings: AuthenticationSettings = {
    ...serviceAccountSettings(flags),
    staticTokens:
      flags.tokenAuthFile === undefined
        ? undefined
        : ofFlag('token-auth-file', flags.tokenAuthFile, () =>
            createStaticTokenAuthenticator(read(flags.tokenAuthFile!)),
          ),
    providerTokens: providers && {
      authenticateToken: (token, audiences) => providers.now().tokens.authenticateToken(token, audiences),
    },
    bootstrapTokens: flags.enableBootstrapTokenAuth,
    webhookTokens: await webhookTokensOf(flags, deps, client),
    anonymous: anonymousInFile ? (url) => allows(providers!.now().anonymous ?? {})(url) : byFlag,
    requestHeaders: requestHeadersOf(flags),
  };
  const stop = (): void => {
    providers?.stop();
    client.close();
  };
  const signer = await externalSignerOf(flags, deps).catch((error: unknown) => {
    stop();
    throw error;
  });
  if (signer === undefined) return { settings, stop };
  return {
    settings: {
      ...settings,
      externalSigner: signer,
      maxTokenExpirationSeconds: signer.maxExpirationSeconds,
    },
    stop() {
      stop();
      signer.close();
    },
  };
}
