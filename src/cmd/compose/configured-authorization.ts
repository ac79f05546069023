// Files and flags about authorization made into authorizers, in the order that they name. Read once, when the server starts.
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
import type { OwnAuthorizers } from '../../controlplane/control-plane.ts';
import { compileCondition } from '../../plugins/authorization/webhook/match-conditions.ts';
import { createWebhookAuthorizer } from '../../plugins/authorization/webhook-authorizer.ts';
import { createRemoteReviewer } from '../../plugins/webhook/remote-reviewer.ts';
import { HttpsClient } from '../../wire/https-client.ts';

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

/** Undefined: nobody said anything. Throws for what does not go together. */
function configurationOf(flags: AuthorizationFlags): AuthorizationConfiguration | undefined {
  const { authorizationConfig: file, authorizationMode: modes } = flags;
  if (file !== undefined) {
    if (modes !== undefined || flags.authorizationWebhookConfigFile !== undefined)
      throw new Error(
        '--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined',
      );
    return readAuthorizationConfiguration(parseYaml(readFileSync(file, 'utf8')), { faultOf, fileFault });
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
      name: type.toLowerCase(),
      ...(type === 'Webhook' ? { webhook } : {}),
    })),
  };
}

const msOf = (text: string | undefined, other: string): number => parseGoDuration(text ?? other) ?? 0;

async function webhookOf(
  { name = '', webhook = {} }: ConfiguredAuthorizer,
  { clock, log }: Dependencies,
): Promise<Authorizer> {
  const { transport } = await loadKubeconfig(webhook.connectionInfo?.kubeConfigFile ?? '', readFile);
  const client = new HttpsClient({ maxAnswerBytes: 1 << 20, maxConnections: 16, maxAllConnections: 16 });
  const timeoutMs = msOf(webhook.timeout, '30s');
  return createWebhookAuthorizer({
    reviewer: createRemoteReviewer({ transport, client, clock, timeoutMs }),
    clock,
    version: webhook.subjectAccessReviewVersion === 'v1' ? 'v1' : 'v1beta1',
    authorizedMs: webhook.cacheAuthorizedRequests === false ? 0 : msOf(webhook.authorizedTTL, '5m'),
    unauthorizedMs: webhook.cacheUnauthorizedRequests === false ? 0 : msOf(webhook.unauthorizedTTL, '30s'),
    failurePolicy: webhook.failurePolicy === 'Deny' ? 'Deny' : 'NoOpinion',
    conditions: (webhook.matchConditions ?? []).map(({ expression = '' }) => expression),
    failed: (error) => log.error({ authorizer: name, error }, 'failed to make webhook authorizer request'),
  });
}

const always = (decision: AuthorizationDecision): Authorizer => ({ authorize: () => decision });

/** Undefined: the server's own order, Node before RBAC. */
export async function configuredAuthorization(
  flags: AuthorizationFlags,
  deps: Dependencies,
): Promise<((own: OwnAuthorizers) => readonly Authorizer[]) | undefined> {
  const configuration = configurationOf(flags);
  if (configuration === undefined) return undefined;
  const { authorizers = [] } = configuration;
  const webhooks = new Map<ConfiguredAuthorizer, Authorizer>();
  for (const one of authorizers) if (one.type === 'Webhook') webhooks.set(one, await webhookOf(one, deps));
  return ({ node, rbac }) =>
    authorizers.map((one) => {
      if (one.type === 'Node') return node;
      if (one.type === 'RBAC') return rbac;
      if (one.type === 'AlwaysAllow') return always({ decision: 'allow', reason: '' });
      if (one.type === 'AlwaysDeny')
        return always({ decision: 'no-opinion', reason: 'Everything is forbidden.' });
      return webhooks.get(one)!;
    });
}
