// Files and flags about authorization made into authorizers, in the order that they name; the configuration file is read again when
// it changes.
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import {
  type AuthorizationConfiguration,
  authorizerName,
  authorizerTypes,
  type ConfiguredAuthorizer,
  readAuthorizationConfiguration,
} from '../../api/config/authorization-configuration.ts';
import type { AuthorizationDecision, Authorizer } from '../../apiserver/authorization/authorizer.ts';
import type { Clock } from '../../base/clock.ts';
import { parseGoDuration } from '../../base/go-duration.ts';
import { parseYaml } from '../../base/yaml.ts';
import { loadKubeconfig } from '../../client/kubeconfig.ts';
import { checkConfigurationSize } from '../../component-base/configuration-size.ts';
import { inWords, type Logger } from '../../component-base/logger.ts';
import { createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import { watchFile } from '../../component-base/watched-file.ts';
import type { OwnAuthorizers } from '../../controlplane/own-authorizers.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import { countedAuthorizer } from '../../plugins/authorization/counted-authorizer.ts';
import { unionAuthorizer } from '../../plugins/authorization/union-authorizer.ts';
import { compileCondition } from '../../plugins/authorization/webhook/review-conditions.ts';
import { webhookMetrics } from '../../plugins/authorization/webhook/webhook-metrics.ts';
import { createWebhookAuthorizer } from '../../plugins/authorization/webhook-authorizer.ts';
import { createRemoteReviewer, ReviewError, type TryResult } from '../../plugins/webhook/remote-reviewer.ts';
import { HttpsClient } from '../../wire/https-client.ts';
import { ofFlag } from './of-flag.ts';
import { authorizationReloadMetrics } from './reload-metrics.ts';

/** As commander reads them. */
export interface AuthorizationFlags {
  readonly authorizationConfig?: string;
  readonly authorizationMode?: readonly string[];
  readonly authorizationPolicyFile?: string;
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

const readFileText = (text: string, required: readonly string[] = []): AuthorizationConfiguration =>
  readAuthorizationConfiguration(parseYaml(text), { faultOf, fileFault, required });

/** Throws for modes and files that do not go together. */
function checkModes(flags: AuthorizationFlags): void {
  const { authorizationMode: modes, authorizationPolicyFile: policyFile } = flags;
  const webhookFile = flags.authorizationWebhookConfigFile;
  const fault = (text: string): never => {
    throw new Error(text);
  };
  if (modes?.length === 0) fault('at least one authorization-mode must be passed');
  for (const mode of modes ?? []) {
    if (!authorizerTypes.includes(mode))
      fault(`authorization-mode ${JSON.stringify(mode)} is not a valid mode`);
    if (mode === 'ABAC' && policyFile === undefined)
      fault("authorization-mode ABAC's authorization policy file not passed");
    if (mode === 'Webhook' && webhookFile === undefined)
      fault("authorization-mode Webhook's authorization config file not passed");
  }
  if (policyFile !== undefined && !modes?.includes('ABAC'))
    fault('cannot specify --authorization-policy-file without mode ABAC');
  if (webhookFile !== undefined && !modes?.includes('Webhook'))
    fault('cannot specify --authorization-webhook-config-file without mode Webhook');
  if (modes !== undefined && new Set(modes).size < modes.length)
    fault(
      `authorization-mode [${modes.map((mode) => JSON.stringify(mode)).join(' ')}] has mode specified more than once`,
    );
}

interface Said {
  readonly configuration: AuthorizationConfiguration;
  /** The file's. */
  readonly text: string;
}

/** Undefined: nobody said anything. Throws for what does not go together. */
function configurationOf(flags: AuthorizationFlags): Said | undefined {
  const { authorizationConfig: file, authorizationMode: modes } = flags;
  if (file !== undefined) {
    const old = modes ?? flags.authorizationWebhookConfigFile;
    const times = flags.authorizationWebhookCacheAuthorizedTtl;
    if ((old ?? times ?? flags.authorizationWebhookCacheUnauthorizedTtl) !== undefined)
      throw new Error(
        '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
      );
    return ofFlag('authorization-config', file, () => {
      checkConfigurationSize(file);
      const text = readFileSync(file, 'utf8');
      return { configuration: readFileText(text), text };
    });
  }
  checkModes(flags);
  const webhookFile = flags.authorizationWebhookConfigFile;
  if (modes === undefined) return undefined;
  const webhook = {
    timeout: '30s',
    authorizedTTL: flags.authorizationWebhookCacheAuthorizedTtl ?? '5m',
    unauthorizedTTL: flags.authorizationWebhookCacheUnauthorizedTtl ?? '30s',
    subjectAccessReviewVersion: flags.authorizationWebhookVersion ?? 'v1beta1',
    failurePolicy: 'NoOpinion',
    connectionInfo: { type: 'KubeConfigFile', kubeConfigFile: webhookFile ?? '' },
  };
  const authorizers = modes.map((type) => ({
    type,
    // As upstream calls the one that flags name.
    name: type === 'Webhook' ? 'default' : authorizerName(type),
    ...(type === 'Webhook' ? { webhook } : {}),
  }));
  return { configuration: { authorizers }, text: '' };
}

const msOf = (text: string | undefined, other: string): number => parseGoDuration(text ?? other) ?? 0;

/** Authorizers, and the connections that they keep. */
interface Built {
  readonly authorizers: (own: OwnAuthorizers) => readonly Authorizer[];
  /** Others are asked from now on; what is under way gets its answer. */
  release(): void;
  close(): void;
}

/** What is counted of the webhook of this name. */
function countsOf(name: string, registry: MetricsRegistry = createMetrics()) {
  const counted = webhookMetrics(registry);
  const who = { name, type: 'Webhook' };
  return {
    tried(result: TryResult, seconds: number): void {
      counted.evaluations.inc({ name, result });
      counted.durations.observe({ name, result }, seconds);
    },
    failedOpen: (result: TryResult): void => counted.failedOpen.inc({ name, result }),
    matched(how: 'all' | 'excluded' | 'failed', seconds: number): void {
      counted.conditionSeconds.observe(who, seconds);
      if (how === 'excluded') counted.exclusions.inc(who);
      if (how === 'failed') counted.conditionErrors.inc(who);
    },
  };
}

async function webhookOf(
  { name = '', webhook = {} }: ConfiguredAuthorizer,
  { clock, log, metrics }: Dependencies,
): Promise<{ readonly authorizer: Authorizer; readonly client: HttpsClient }> {
  const { transport } = await loadKubeconfig(webhook.connectionInfo?.kubeConfigFile ?? '', readFile);
  const client = new HttpsClient({ maxAnswerBytes: 1 << 20, maxConnections: 16, maxAllConnections: 16 });
  const timeoutMs = msOf(webhook.timeout, '30s');
  const counts = countsOf(name, metrics);
  const authorizer = createWebhookAuthorizer({
    reviewer: createRemoteReviewer({ transport, client, clock, timeoutMs, tried: counts.tried }),
    clock,
    version: webhook.subjectAccessReviewVersion === 'v1' ? 'v1' : 'v1beta1',
    authorizedMs: webhook.cacheAuthorizedRequests === false ? 0 : msOf(webhook.authorizedTTL, '5m'),
    unauthorizedMs: webhook.cacheUnauthorizedRequests === false ? 0 : msOf(webhook.unauthorizedTTL, '30s'),
    failurePolicy: webhook.failurePolicy === 'Deny' ? 'Deny' : 'NoOpinion',
    conditions: (webhook.matchConditions ?? []).map(({ expression = '' }) => expression),
    matched: counts.matched,
    failed: (error) => {
      log.error({ authorizer: name, error: inWords(error) }, 'failed to make webhook authorizer request');
      if (webhook.failurePolicy !== 'Deny' && error instanceof ReviewError) counts.failedOpen(error.result);
    },
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

/** What stays as it was at the start, also when the file is read again. */
interface Kept {
  /** All but webhooks: a file that is read again must name them, and can't name others. */
  readonly types: readonly string[];
  readonly abac: Authorizer | undefined;
}

/** Those that are made once. */
const madeAtStart: readonly string[] = ['ABAC', 'Node', 'RBAC'];

async function abacOf(file: string, log: Logger): Promise<Authorizer> {
  const { readAbacPolicy } = await import('../../api/config/abac-policy.ts');
  const { createAbacAuthorizer } = await import('../../plugins/authorization/abac-authorizer.ts');
  const text = ofFlag('authorization-policy-file', file, () => readFileSync(file, 'utf8'));
  const { rules, unversioned } = readAbacPolicy(file, text);
  if (unversioned > 0)
    log.warn(
      { file, unversioned },
      'the policy file has rules without a version: what they do not say is everything',
    );
  return createAbacAuthorizer(rules);
}

async function atStart(
  { authorizers = [] }: AuthorizationConfiguration,
  file: string | undefined,
  log: Logger,
): Promise<Kept> {
  const types = authorizers.map(({ type = '' }) => type).filter((type) => type !== 'Webhook');
  if (!types.includes('ABAC')) return { types, abac: undefined };
  if (file === undefined) throw new Error("authorization-mode ABAC's authorization policy file not passed");
  return { types, abac: await abacOf(file, log) };
}

async function build(
  { authorizers = [] }: AuthorizationConfiguration,
  { types, abac }: Kept,
  deps: Dependencies,
): Promise<Built> {
  const late = authorizers.find(({ type = '' }) => madeAtStart.includes(type) && !types.includes(type));
  if (late !== undefined)
    throw new Error(
      `authorizer type ${late.type} is not allowed if it was not enabled at initial server startup`,
    );
  const webhooks = new Map<ConfiguredAuthorizer, Awaited<ReturnType<typeof webhookOf>>>();
  const close = (): void => {
    for (const { client } of webhooks.values()) client.close();
  };
  const release = (): void => {
    for (const { client } of webhooks.values()) client.release();
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
    if (one.type === 'ABAC') return abac!;
    if (one.type === 'AlwaysAllow') return always({ decision: 'allow', reason: '' }, everything);
    if (one.type === 'AlwaysDeny')
      return always({ decision: 'no-opinion', reason: 'Everything is forbidden.' });
    return webhooks.get(one)!.authorizer;
  };
  const counted = (one: ConfiguredAuthorizer, authorizer: Authorizer): Authorizer =>
    deps.metrics === undefined
      ? authorizer
      : countedAuthorizer(authorizer, { type: one.type ?? '', name: one.name ?? '' }, deps.metrics);
  return { authorizers: (own) => authorizers.map((one) => counted(one, of(one, own))), close, release };
}

/** The file's, now and after each change of it; one that can't be used changes nothing. */
function followFile(
  file: string,
  first: Built & Pick<Said, 'text'>,
  kept: Kept,
  deps: Dependencies,
): { readonly now: () => Built; stop(): void } {
  const { clock, log, metrics, serverId = '', everyMs = 60_000 } = deps;
  const { reloads, lastReload, configuration } = authorizationReloadMetrics(metrics ?? createMetrics());
  const id = `sha256:${sha256Hex(serverId)}`;
  const hashOf = (text: string): string => (text === '' ? '' : `sha256:${sha256Hex(text)}`);
  let current: Built = first;
  let stopped = false;
  let reading: Promise<void> = Promise.resolve();
  const told = (status: 'success' | 'failure'): void => {
    reloads.inc({ status, apiserver_id_hash: id });
    lastReload.set({ status, apiserver_id_hash: id }, clock.now() / 1000);
  };
  const failed = (error: unknown): void => {
    told('failure');
    log.error({ file, error: inWords(error) }, 'failed to reload authz config; what was there before holds');
  };
  const take = async (text: string): Promise<void> => {
    try {
      const next = await build(readFileText(text, kept.types), kept, deps);
      // Answers that are under way come by the old connections, which end with them.
      if (stopped) return next.close();
      const before = current;
      current = next;
      before.release();
      told('success');
      hash = hashOf(text);
      log.info({ file }, 'reloaded authz config');
    } catch (error) {
      failed(error);
    }
  };
  const watched = watchFile(file, clock, {
    everyMs,
    unread: failed,
    known: first.text,
    changed: (text) => {
      reading = reading.then(() => take(text));
    },
  });
  let hash = hashOf(first.text);
  const forget = configuration.add(() => [[{ apiserver_id_hash: id, hash }, 1]]);
  return {
    now: () => current,
    stop() {
      stopped = true;
      forget();
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
  const said = configurationOf(flags);
  if (said === undefined) return undefined;
  const { configuration, text } = said;
  const kept = await atStart(configuration, flags.authorizationPolicyFile, deps.log);
  const first = await build(configuration, kept, deps);
  const file = flags.authorizationConfig;
  if (file === undefined) {
    deps.defer?.(() => first.close());
    return first.authorizers;
  }
  const following = followFile(file, { ...first, text }, kept, deps);
  deps.defer?.(() => following.stop());
  return (own) => [followed(following.now, own)];
}
