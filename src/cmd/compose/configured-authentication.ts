// Files and flags about authentication made into authenticators; the configuration file is read again when it changes.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  type ConfigurationRules,
  checkedAuthentication,
  readAuthenticationConfiguration,
} from '../../api/config/authentication-configuration.ts';
import type { TokenAuthenticator } from '../../apiserver/authentication/token-authenticator.ts';
import type { Clock } from '../../base/clock.ts';
import { parseYaml } from '../../base/yaml.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { watchFile } from '../../component-base/watched-file.ts';
import type { AuthenticationSettings } from '../../controlplane/authentication.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { signingAlgorithms } from '../../crypto/json-web-keys.ts';
import { publicKeysOf } from '../../crypto/keys.ts';
import { bundleFault } from '../../crypto/subject.ts';
import { type AllowsAnonymous, onlyPaths } from '../../plugins/authentication/anonymous-authenticator.ts';
import type { CompileExpression } from '../../plugins/authentication/oidc/claim-expressions.ts';
import type { GetJson } from '../../plugins/authentication/oidc/provider-keys.ts';
import { createOidcAuthenticator } from '../../plugins/authentication/oidc-authenticator.ts';
import { createStaticTokenAuthenticator } from '../../plugins/authentication/static-token-authenticator.ts';
import { cachedTokens } from '../../plugins/authentication/tokens/cached-tokens.ts';
import { createWebhookTokenAuthenticator } from '../../plugins/authentication/webhook-token-authenticator.ts';
import { createRemoteReviewer } from '../../plugins/webhook/remote-reviewer.ts';
import { HttpsClient } from '../../wire/https-client.ts';
import { type AuthenticationFlags, checkIssuers, providerOfFlags } from './authentication-flags.ts';
import { reloadMetrics } from './reload-metrics.ts';

export interface ConfiguredDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  readonly compile: CompileExpression;
  /** Of --authorization-mode. */
  readonly authorizationModes?: readonly string[] | undefined;
  /** Of this server; told by its digest. */
  readonly serverId: string;
  /** How often files are looked at. As upstream: a minute. */
  readonly everyMs?: number;
}

export interface ConfiguredAuthentication {
  readonly settings: AuthenticationSettings;
  stop(): void;
}

const read = (file: string): string => readFileSync(file, 'utf8');

/** As upstream waits for its webhooks. */
const webhookTimeoutMs = 30_000;
const providerTimeoutMs = 10_000;
const defaultWebhookTtlMs = 2 * 60_000;
const maxAnswerBytes = 1 << 20;

const newClient = (): HttpsClient =>
  new HttpsClient({ maxAnswerBytes, maxConnections: 8, maxAllConnections: 32 });

/** Where a document says it is, and nowhere else: a redirect is no document. */
const getJsonBy =
  (client: HttpsClient, clock: Clock): GetJson =>
  async (address, ca) => {
    const url = new URL(address);
    const ending = new AbortController();
    const cancel = clock.timer(providerTimeoutMs, () => ending.abort(new Error('context deadline exceeded')));
    try {
      const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
      const answer = await client.ask(
        { host, port: url.port === '' ? 443 : Number(url.port), ca },
        {
          method: 'GET',
          path: `${url.pathname}${url.search}`,
          headers: { accept: 'application/json' },
          body: Buffer.alloc(0),
          signal: ending.signal,
        },
      );
      if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.body.toString('utf8', 0, 256)}`);
      return JSON.parse(answer.body.toString('utf8'));
    } finally {
      cancel();
    }
  };

/** What the configuration says now. */
interface Current {
  readonly tokens: TokenAuthenticator;
  readonly anonymous: AnonymousConfiguration | undefined;
}

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

function rulesOf(flags: AuthenticationFlags, compile: CompileExpression): ConfigurationRules {
  return {
    bundleFault,
    disallowedIssuers: flags.serviceAccountIssuer ?? [],
    faultOf: (expression, variable, result) => {
      try {
        compile(expression, variable, result);
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    },
  };
}

function createCurrent(
  { jwt = [], anonymous }: AuthenticationConfiguration,
  algorithms: readonly string[],
  getJson: GetJson,
  { clock, compile, metrics }: ConfiguredDependencies,
): Current {
  const { latency } = reloadMetrics(metrics);
  const tokens = createOidcAuthenticator(jwt, {
    clock,
    getJson,
    compile,
    algorithms,
    observe: (issuer, result, seconds) =>
      latency.observe({ result, jwt_issuer_hash: `sha256:${sha256Hex(issuer)}` }, seconds),
  });
  return { tokens, anonymous };
}

/** The file's, now and after each change of it; one that can't be used changes nothing. */
function followFile(
  file: string,
  make: (text: string) => Current,
  { clock, log, metrics, serverId, everyMs = 60_000 }: ConfiguredDependencies,
): { readonly now: () => Current; stop(): void } {
  const { reloads, lastReload } = reloadMetrics(metrics);
  const id = `sha256:${sha256Hex(serverId)}`;
  const watched = watchFile(file, clock, {
    everyMs,
    changed: (text) => {
      const told = (status: 'success' | 'failure'): void => {
        reloads.inc({ status, apiserver_id_hash: id });
        lastReload.set({ status, apiserver_id_hash: id }, clock.now() / 1000);
      };
      try {
        current = make(text);
        told('success');
        log.info({ file }, 'reloaded authentication config');
      } catch (error) {
        told('failure');
        log.error({ file, error }, 'failed to load authentication config; what was there before holds');
      }
    },
  });
  let current: Current;
  try {
    current = make(watched.text);
  } catch (error) {
    // Whoever can't start looks at nothing, and ends.
    watched.stop();
    throw error;
  }
  return { now: () => current, stop: () => watched.stop() };
}

async function webhookTokensOf(
  flags: AuthenticationFlags,
  { clock }: ConfiguredDependencies,
  client: HttpsClient,
): Promise<AuthenticationSettings['webhookTokens']> {
  const file = flags.authenticationTokenWebhookConfigFile;
  if (file === undefined) return undefined;
  const { transport } = await loadKubeconfig(file, readFile);
  const reviewer = createRemoteReviewer({ transport, client, clock, timeoutMs: webhookTimeoutMs });
  const ttl = flags.authenticationTokenWebhookCacheTtl ?? defaultWebhookTtlMs;
  const version = flags.authenticationTokenWebhookVersion ?? 'v1beta1';
  return (apiAudiences) =>
    cachedTokens(createWebhookTokenAuthenticator({ reviewer, version, apiAudiences }), {
      clock,
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
    olderKeys: serviceAccountKeyFile.flatMap((file) => publicKeysOf(read(file))),
    maxTokenExpirationSeconds: longestMs === undefined ? undefined : longestMs / 1000,
  };
}

/** With which tokens of a provider by flags may be signed. */
function algorithmsOf({ oidcSigningAlgs = ['RS256'] }: AuthenticationFlags): readonly string[] {
  const unknown = oidcSigningAlgs.find((name) => !signingAlgorithms.includes(name));
  if (unknown !== undefined) throw new Error(`oidc: unsupported signing alg: ${JSON.stringify(unknown)}`);
  return oidcSigningAlgs.length === 0 ? ['RS256'] : oidcSigningAlgs;
}

/** Throws for flags and files that can't be followed. */
export async function configuredAuthentication(
  flags: AuthenticationFlags,
  deps: ConfiguredDependencies,
): Promise<ConfiguredAuthentication> {
  checkIssuers(flags);
  const client = newClient();
  const getJson = getJsonBy(client, deps.clock);
  const provider = providerOfFlags(flags, read);
  const { authenticationConfig: file, anonymousAuth } = flags;
  const rules = rulesOf(flags, deps.compile);
  const make = (text: string): Current => {
    const configuration = readAuthenticationConfiguration(parseYaml(text), rules);
    if (configuration.anonymous !== undefined && anonymousAuth !== undefined)
      throw new Error(
        '--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
      );
    return createCurrent(configuration, signingAlgorithms, getJson, deps);
  };
  const followed = file === undefined ? undefined : followFile(file, make, deps);
  const byFlags =
    provider &&
    createCurrent(checkedAuthentication({ jwt: [provider] }, rules), algorithmsOf(flags), getJson, deps);
  const now = followed === undefined ? byFlags && (() => byFlags) : followed.now;
  const byFlag = anonymousByFlag(flags, deps);
  // Upstream decides at its start whether there is an anonymous user; what it may see changes with the file.
  const anonymousInFile = followed?.now().anonymous !== undefined;
  return {
    settings: {
      ...serviceAccountSettings(flags),
      staticTokens:
        flags.tokenAuthFile === undefined
          ? undefined
          : createStaticTokenAuthenticator(read(flags.tokenAuthFile)),
      providerTokens: now && {
        authenticateToken: (token, audiences) => now().tokens.authenticateToken(token, audiences),
      },
      webhookTokens: await webhookTokensOf(flags, deps, client),
      anonymous: anonymousInFile ? (url) => allows(now!().anonymous ?? {})(url) : byFlag,
      requestHeaders: requestHeadersOf(flags),
    },
    stop() {
      followed?.stop();
      client.close();
    },
  };
}
