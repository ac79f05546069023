// Files and flags about authorization made into authorizers, in the order that they name; the configuration file is read again when
// it changes.
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import {
  type AuthorizationConfiguration,
  authorizerTypes,
  type ConfiguredAuthorizer,
  readAuthorizationConfiguration,
} from '../../api/config/authorization-configuration.ts';
import type { AuthorizationDecision, Authorizer } from '../../apiserver/authorization/authorizer.ts';
import type { Clock } from '../../base/clock.ts';
import { parseGoDuration } from '../../base/go-duration.ts';
import { parseYaml } from '../../base/yaml.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import type { Logger } from '../../component-base/logger.ts';
import { createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import { watchFile } from '../../component-base/watched-file.ts';
import type { OwnAuthorizers } from '../../controlplane/own-authorizers.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { countedAuthorizer } from '../../plugins/authorization/counted-authorizer.ts';
import { unionAuthorizer } from '../../plugins/authorization/union-authorizer.ts';
import { compileCondition } from '../../plugins/authorization/webhook/review-conditions.ts';
import { createWebhookAuthorizer } from '../../plugins/authorization/webhook-authorizer.ts';
import { createRemoteReviewer } from '../../plugins/webhook/remote-reviewer.ts';
import { HttpsClient } from '../../wire/https-client.ts';
import { ofFlag } from './of-flag.ts';
import { authorizationReloadMetrics } from './reload-metrics.ts';

/** As commander reads them. */
export interface AuthorizationFlags {
  readonly authorizationConfig?: string;
  readonly authorizationMode?: readonly string[];
  readonly authorizationWebhookConfigFile?: string;
  readonly authorizationWebhookVersion?: 'v1' | 'v1beta1';
  readonly authorizationWebhookCacheAuthorizedTtl?: string;
  readonly authorizationWebhookCacheUnauthorizedTtl?: string;
}

interface Dependencies {
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: nothing is counted. */
  readonly metrics?: MetricsRegistry;
  /** Of this server; told by its digest. */
  readonly serverId?: string;
  /** How often the file is looked at. As upstream: a minute. */
  readonly everyMs?: number;
  /** Takes what is to be done when the server ends. */
  readonly defer?: (stop: () => void) => void;
}

function fileFault(path: string): string | undefined {
  if (!isAbsolute(path)) return 'must be an absolute path';
  try {
    return statSync(path).isFile() ? undefined : 'must be a regular file';
  } catch (error) {
    return `error loading file: ${(error as Error).message}`;
  }
}

function faultOf(expression: string): string | undefined {
  try {
    compileCondition(expression);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

const readFileText = (text: string): AuthorizationConfiguration =>
  readAuthorizationConfiguration(parseYaml(text), { faultOf, fileFault });

/** Undefined: nobody said anything. Throws for what does not go together. */
function configurationOf(flags: AuthorizationFlags): AuthorizationConfiguration | undefined {
  const { authorizationConfig: file, authorizationMode: modes } = flags;
  if (file !== undefined) {
    if (modes !== undefined || flags.authorizationWebhookConfigFile !== undefined)
      throw new Error(
        '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
      );
    return ofFlag('authorization-config', file, () => readFileText(readFileSync(file, 'utf8')));
  }
  const webhookFile = flags.authorizationWebhookConfigFile;
  if (webhookFile !== undefined && !modes?.includes('Webhook'))
    throw new Error('cannot specify --authorization-webhook-config-file without mode Webhook');
  if (modes === undefined) return undefined;
  if (modes.length === 0) throw new Error('at least one authorization-mode must be passed');
  if (new Set(modes).size < modes.length)
    throw new Error(
      `authorization-mode [${modes.map((mode) => JSON.stringify(mode)).join(' ')}] has mode specified more than once`,
    );
  const unknown = modes.find((mode) => !authorizerTypes.includes(mode));
  if (unknown !== undefined)
    throw new Error(`authorization-mode ${JSON.stringify(unknown)} is not a valid mode`);
  if (modes.includes('Webhook') && webhookFile === undefined)
    throw new Error("authorization-mode Webhook's authorization config file not passed");
  const webhook = {
    timeout: '30s',
    authorizedTTL: flags.authorizationWebhookCacheAuthorizedTtl ?? '5m',
    unauthorizedTTL: flags.authorizationWebhookCacheUnauthorizedTtl ?? '30s',
    subjectAccessReviewVersion: flags.authorizationWebhookVersion ?? 'v1beta1',
    failurePolicy: 'NoOpinion',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: webhookFile ?? '' },
  };
  return {
    authorizers: modes.map((type) => ({
      type,
      // As upstream calls the one that flags name.
      name: type === 'Webhook' ? 'default' : type.toLowerCase(),
      ...(type === 'Webhook' ? { webhook } : {}),
    })),
  };
}

const msOf = (text: string | undefined, other: string): number => parseGoDuration(text ?? other) ?? 0;

/** Authorizers, and the connections that they keep. */
interface Built {
  readonly authorizers: (own: OwnAuthorizers) => readonly Authorizer[];
  close(): void;
}

async function webhookOf(
  { name = '', webhook = {} }: ConfiguredAuthorizer,
  { clock, log }: Dependencies,
): Promise<{ readonly authorizer: Authorizer; readonly client: HttpsClient }> {
  const { transport } = await loadKubeconfig(webhook.connectionInfo?.kubeConfigFile ?? '', readFile);
  const client = new HttpsClient({ maxAnswerBytes: 1 << 20, maxConnections: 16, maxAllConnections: 16 });
  const timeoutMs = msOf(webhook.timeout, '30s');
  const authorizer = createWebhookAuthorizer({
    reviewer: createRemoteReviewer({ transport, client, clock, timeoutMs }),
    clock,
    version: webhook.subjectAccessReviewVersion === 'v1' ? 'v1' : 'v1beta1',
    authorizedMs: webhook.cacheAuthorizedRequests === false ? 0 : msOf(webhook.authorizedTTL, '5m'),
    unauthorizedMs: webhook.cacheUnauthorizedRequests === false ? 0 : msOf(webhook.unauthorizedTTL, '30s'),
    failurePolicy: webhook.failurePolicy === 'Deny' ? 'Deny' : 'NoOpinion',
    conditions: (webhook.matchConditions ?? []).map(({ expression = '' }) => expression),
    failed: (error) => log.error({ authorizer: name, error }, 'failed to make webhook authorizer request'),
  });
  return { authorizer, client };
}

const always = (decision: AuthorizationDecision, rules: readonly object[] = []): Authorizer => ({
  authorize: () => decision,
  rulesFor: () => ({ rules, incomplete: false, errors: [] }),
});

const everything: readonly object[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

async function build({ authorizers = [] }: AuthorizationConfiguration, deps: Dependencies): Promise<Built> {
  const webhooks = new Map<ConfiguredAuthorizer, Awaited<ReturnType<typeof webhookOf>>>();
  const close = (): void => {
    for (const { client } of webhooks.values()) client.close();
  };
  try {
    for (const one of authorizers) if (one.type === 'Webhook') webhooks.set(one, await webhookOf(one, deps));
  } catch (error) {
    close();
    throw error;
  }
  const of = (one: ConfiguredAuthorizer, { node, rbac }: OwnAuthorizers): Authorizer => {
    if (one.type === 'Node') return node;
    if (one.type === 'RBAC') return rbac;
    if (one.type === 'AlwaysAllow') return always({ decision: 'allow', reason: '' }, everything);
    if (one.type === 'AlwaysDeny')
      return always({ decision: 'no-opinion', reason: 'Everything is forbidden.' });
    return webhooks.get(one)!.authorizer;
  };
  const counted = (one: ConfiguredAuthorizer, authorizer: Authorizer): Authorizer =>
    deps.metrics === undefined
      ? authorizer
      : countedAuthorizer(authorizer, { type: one.type ?? '', name: one.name ?? '' }, deps.metrics);
  return { authorizers: (own) => authorizers.map((one) => counted(one, of(one, own))), close };
}

/** The file's, now and after each change of it; one that can't be used changes nothing. */
function followFile(
  file: string,
  first: Built,
  deps: Dependencies,
): { readonly now: () => Built; stop(): void } {
  const { clock, log, metrics, serverId = '', everyMs = 60_000 } = deps;
  const { reloads, lastReload } = authorizationReloadMetrics(metrics ?? createMetrics());
  const id = `sha256:${sha256Hex(serverId)}`;
  let current = first;
  let stopped = false;
  let reading: Promise<void> = Promise.resolve();
  const told = (status: 'success' | 'failure'): void => {
    reloads.inc({ status, apiserver_id_hash: id });
    lastReload.set({ status, apiserver_id_hash: id }, clock.now() / 1000);
  };
  const take = async (text: string): Promise<void> => {
    try {
      const next = await build(readFileText(text), deps);
      // Answers that are under way come by the old connections, which end with them.
      if (stopped) return next.close();
      const before = current;
      current = next;
      before.close();
      told('success');
      log.info({ file }, 'reloaded authz config');
    } catch (error) {
      told('failure');
      log.error({ file, error }, 'failed to reload authz config; what was there before holds');
    }
  };
  const watched = watchFile(file, clock, {
    everyMs,
    changed: (text) => {
      reading = reading.then(() => take(text));
    },
  });
  return {
    now: () => current,
    stop() {
      stopped = true;
      watched.stop();
      current.close();
    },
  };
}

/** Asks whoever is configured now. */
function followed(now: () => Built, own: OwnAuthorizers): Authorizer {
  let built: Built | undefined;
  let union: Authorizer | undefined;
  const configured = (): Authorizer => {
    const current = now();
    if (union === undefined || built !== current) {
      built = current;
      union = unionAuthorizer(current.authorizers(own));
    }
    return union;
  };
  const noRules = { rules: [], incomplete: false, errors: [] };
  return {
    authorize: (attributes) => configured().authorize(attributes),
    rulesFor: (user, namespace) => configured().rulesFor?.(user, namespace) ?? noRules,
  };
}

/** Undefined: the server's own order, Node before RBAC. */
export async function configuredAuthorization(
  flags: AuthorizationFlags,
  deps: Dependencies,
): Promise<((own: OwnAuthorizers) => readonly Authorizer[]) | undefined> {
  const configuration = configurationOf(flags);
  if (configuration === undefined) return undefined;
  const first = await build(configuration, deps);
  const file = flags.authorizationConfig;
  if (file === undefined) {
    deps.defer?.(() => first.close());
    return first.authorizers;
  }
  const following = followFile(file, first, deps);
  deps.defer?.(() => following.stop());
  return (own) => [followed(following.now, own)];
}
