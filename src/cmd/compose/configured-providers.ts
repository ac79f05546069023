// Providers of identities as --authentication-config or --oidc-* say; the configuration file is read again when it changes.
import { isDeepStrictEqual } from 'node:util';
import {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  type ConfigurationRules,
  checkedAuthentication,
  type JwtAuthenticator,
  readAuthenticationConfiguration,
} from '../../api/config/authentication-configuration.ts';
import type { TokenAuthenticator } from '../../apiserver/authentication/token-authenticator.ts';
import type { Clock } from '../../base/clock.ts';
import { parseYaml } from '../../base/yaml.ts';
import { inWords, type Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { watchFile } from '../../component-base/watched-file.ts';
import { signingAlgorithms } from '../../crypto/json-web-keys.ts';
import { bundleFault } from '../../crypto/subject.ts';
import { compileClaimExpression } from '../../plugins/authentication/oidc/compile-claim-expression.ts';
import type { GetText } from '../../plugins/authentication/oidc/distributed-groups.ts';
import type { GetJson, KeysFetched } from '../../plugins/authentication/oidc/provider-keys.ts';
import { createOidcAuthenticator } from '../../plugins/authentication/oidc-authenticator.ts';
import type { HttpsClient } from '../../wire/https-client.ts';
import type { AuthenticationFlags } from './authentication-flags.ts';
import { hashOf, keyFetches } from './key-fetches.ts';
import { ofFlag } from './of-flag.ts';
import { reloadMetrics } from './reload-metrics.ts';

export interface ConfiguredDependencies {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** Of --authorization-mode. */
  readonly authorizationModes?: readonly string[] | undefined;
  /** Of this server; told by its digest. */
  readonly serverId: string;
  /** How often files are looked at. As upstream: a minute. */
  readonly everyMs?: number;
}

const providerTimeoutMs = 10_000;

interface Fetched {
  readonly status: number;
  readonly text: string;
}

/** Where a document says it is, and nowhere else: a redirect is no document. */
async function fetchFrom(
  address: string,
  ca: string | undefined,
  headers: Readonly<Record<string, string>>,
  { client, clock }: Web,
): Promise<Fetched> {
  const url = new URL(address);
  if (url.protocol !== 'https:') throw new Error(`Get ${JSON.stringify(address)}: the scheme must be https`);
  const ending = new AbortController();
  const cancel = clock.timer(providerTimeoutMs, () => ending.abort(new Error('context deadline exceeded')));
  try {
    const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
    const { status, body } = await client.ask(
      { host, port: url.port === '' ? 443 : Number(url.port), ca },
      {
        method: 'GET',
        path: `${url.pathname}${url.search}`,
        headers,
        body: Buffer.alloc(0),
        signal: ending.signal,
      },
    );
    return { status, text: body.toString('utf8') };
  } finally {
    cancel();
  }
}

/** How providers are asked. */
interface Web {
  readonly client: HttpsClient;
  readonly clock: Clock;
}

const getJsonBy =
  (web: Web): GetJson =>
  async (address, ca, told) => {
    const { status, text } = await fetchFrom(address, ca, { accept: 'application/json' }, web);
    if (status !== 200) throw new Error(`${status}: ${text.slice(0, 256)}`);
    told?.(text);
    return JSON.parse(text);
  };

const getTextBy =
  (web: Web): GetText =>
  async (address, ca, bearer) => {
    const headers = bearer === '' ? {} : { authorization: `Bearer ${bearer}` };
    const { status, text } = await fetchFrom(address, ca, headers, web);
    if (status < 200 || status > 226) throw new Error(`error while getting distributed claim JWT: ${status}`);
    return text;
  };

/** What the configuration says now. */
export interface Current {
  readonly tokens: TokenAuthenticator;
  readonly anonymous: AnonymousConfiguration | undefined;
  /** Whom it trusts, by their addresses. */
  readonly issuers: readonly string[];
  /** Told of the looks for their keys. */
  readonly keysFetched: KeysFetched;
}

function rulesOf(flags: AuthenticationFlags): ConfigurationRules {
  return {
    bundleFault,
    disallowedIssuers: flags.serviceAccountIssuer ?? [],
    faultOf: (expression, variable, result) => {
      try {
        compileClaimExpression(expression, variable, result);
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
  web: Web,
  { clock, metrics }: ConfiguredDependencies,
  keysFetched: KeysFetched,
): Current {
  const { latency } = reloadMetrics(metrics);
  const tokens = createOidcAuthenticator(jwt, {
    clock,
    getJson: getJsonBy(web),
    getText: getTextBy(web),
    compile: compileClaimExpression,
    algorithms,
    keysFetched,
    observe: (issuer, result, seconds) =>
      latency.observe({ result, jwt_issuer_hash: hashOf(issuer) }, seconds),
  });
  return { tokens, anonymous, issuers: jwt.map(({ issuer }) => issuer?.url ?? ''), keysFetched };
}

/** The file's, now and after each change of it; one that can't be used changes nothing. `took`: what holds from now on. */
function followFile(
  file: string,
  make: (text: string) => Current,
  took: (current: Current) => void,
  { clock, log, metrics, serverId, everyMs = 60_000 }: ConfiguredDependencies,
): { readonly now: () => Current; stop(): void } {
  const { reloads, lastReload, configuration } = reloadMetrics(metrics);
  const id = hashOf(serverId);
  const told = (status: 'success' | 'failure'): void => {
    reloads.inc({ status, apiserver_id_hash: id });
    lastReload.set({ status, apiserver_id_hash: id }, clock.now() / 1000);
  };
  const failed = (error: unknown): void => {
    told('failure');
    log.error(
      { file, error: inWords(error) },
      'failed to load authentication config; what was there before holds',
    );
  };
  const watched = watchFile(file, clock, {
    everyMs,
    unread: failed,
    changed: (text) => {
      try {
        const next = make(text);
        if (!isDeepStrictEqual(next.anonymous, current.anonymous))
          throw new Error('anonymous: Forbidden: changed from initial configuration file');
        current = next;
        took(current);
        hash = hashOf(text);
        told('success');
        log.info({ file }, 'reloaded authentication config');
      } catch (error) {
        failed(error);
      }
    },
  });
  let current: Current;
  try {
    current = make(watched.text);
    took(current);
  } catch (error) {
    // Whoever can't start looks at nothing, and ends.
    watched.stop();
    throw error;
  }
  let hash = hashOf(watched.text);
  const forget = configuration.add(() => [[{ apiserver_id_hash: id, hash }, 1]]);
  return {
    now: () => current,
    stop() {
      forget();
      watched.stop();
    },
  };
}

/** With which tokens of a provider by flags may be signed. */
function algorithmsOf({ oidcSigningAlgs = ['RS256'] }: AuthenticationFlags): readonly string[] {
  const unknown = oidcSigningAlgs.find((name) => !signingAlgorithms.includes(name));
  if (unknown !== undefined) throw new Error(`oidc: unsupported signing alg: ${JSON.stringify(unknown)}`);
  return oidcSigningAlgs.length === 0 ? ['RS256'] : oidcSigningAlgs;
}

export interface ConfiguredProviders {
  readonly now: () => Current;
  stop(): void;
}

/** `provider`: of the flags. Throws for a file that can't be followed. */
export function configuredProviders(
  flags: AuthenticationFlags,
  provider: JwtAuthenticator | undefined,
  client: HttpsClient,
  deps: ConfiguredDependencies,
): ConfiguredProviders {
  const web: Web = { client, clock: deps.clock };
  const fetches = keyFetches(reloadMetrics(deps.metrics), deps);
  const { authenticationConfig: file, anonymousAuth } = flags;
  const rules = rulesOf(flags);
  if (file === undefined) {
    const jwt = provider === undefined ? [] : [provider];
    const checked = checkedAuthentication({ jwt }, rules);
    const current = createCurrent(checked, algorithmsOf(flags), web, deps, fetches.begin());
    return { now: () => current, stop: () => fetches.stop() };
  }
  const make = (text: string): Current => {
    const configuration = readAuthenticationConfiguration(parseYaml(text), rules);
    if (configuration.anonymous !== undefined && anonymousAuth !== undefined)
      throw new Error(
        '--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
      );
    return createCurrent(configuration, signingAlgorithms, web, deps, fetches.begin());
  };
  const took = ({ keysFetched, issuers }: Current): void => fetches.keep(keysFetched, issuers);
  const following = ofFlag('authentication-config', file, () => followFile(file, make, took, deps));
  return {
    now: following.now,
    stop() {
      fetches.stop();
      following.stop();
    },
  };
}
