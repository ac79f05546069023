// Who may come in, what they may and what is written of them, as flags and their files say. Of what is not asked for nothing is loaded.
import type { AuditConfig } from '../../apiserver/server-config.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import type { ControlPlaneOptions } from '../../controlplane/control-plane.ts';
import type { AuditFlags } from '../audit-options.ts';
import type { AuthenticationFlags } from './authentication-flags.ts';
import { type ConfiguredAuthentication, configuredAuthentication } from './configured-authentication.ts';
import type { AuthorizationFlags } from './configured-authorization.ts';
import { serverIdentity } from './data-directory.ts';

export interface FlagOptions {
  readonly dataDir: string;
  /** Who may come in, besides whom the server's own keys vouch for. */
  readonly authentication?: AuthenticationFlags | undefined;
  /** What they may. */
  readonly authorization?: AuthorizationFlags | undefined;
  /** Default: nothing is written of requests. */
  readonly audit?: AuditFlags | undefined;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
}

interface Defers {
  /** Takes what is ended with the rest. */
  readonly defer: (end: () => void) => void;
}

/** Who may come in, as flags and their files say. */
export async function configuredFlags(
  options: FlagOptions,
  opened: AsyncDisposableStack,
): Promise<ConfiguredAuthentication & Pick<ControlPlaneOptions, 'authorizers'> & Defers> {
  const { authentication = {}, authorization, dataDir, log, metrics } = options;
  const serverId = serverIdentity(dataDir, systemRandom);
  const { settings, stop } = await configuredAuthentication(authentication, {
    clock: systemClock,
    log,
    metrics,
    authorizationModes: authorization?.authorizationMode,
    serverId,
  });
  opened.defer(stop);
  const may = await configuredAuthorizers(options, opened);
  const ends: (() => void)[] = [];
  return {
    settings,
    authorizers: may.authorizers,
    defer: (end) => void ends.push(end),
    stop() {
      stop();
      may.stop();
      for (const end of ends) end();
    },
  };
}

/** What they may, as flags and their files say. */
async function configuredAuthorizers(
  { authorization = {}, dataDir, log, metrics }: FlagOptions,
  opened: AsyncDisposableStack,
): Promise<{ readonly authorizers: ControlPlaneOptions['authorizers']; stop(): void }> {
  const { authorizationConfig, authorizationMode } = authorization;
  const files = authorization.authorizationWebhookConfigFile ?? authorization.authorizationPolicyFile;
  if ((authorizationConfig ?? authorizationMode ?? files) === undefined)
    return { authorizers: undefined, stop() {} };
  const { configuredAuthorization } = await import('./configured-authorization.ts');
  const ends: (() => void)[] = [];
  const stop = (): void => {
    for (const end of ends.splice(0)) end();
  };
  const authorizers = await configuredAuthorization(authorization, {
    ...{ clock: systemClock, log, metrics, serverId: serverIdentity(dataDir, systemRandom) },
    defer: (end) => void ends.push(end),
  });
  opened.defer(stop);
  return { authorizers, stop };
}

/** Before the first request, and until after the last one. */
export async function auditOf(
  options: FlagOptions,
  opened: AsyncDisposableStack,
): Promise<AuditConfig | undefined> {
  const { audit: flags, log, metrics } = options;
  if ((flags?.policyFile ?? flags?.log ?? flags?.webhook) === undefined) return undefined;
  const { openAuditLog } = await import('./audit-log.ts');
  const audit = await openAuditLog(flags!, { clock: systemClock, random: systemRandom, log, metrics });
  opened.defer(() => audit?.backend.close());
  return audit;
}
