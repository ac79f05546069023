// The webhooks that a control plane asks: of admission, and of definitions that convert.
import type { Scheme } from '../apimachinery/declaration.ts';
import { ConditionChecks } from '../apiserver/admission/webhook/condition-checks.ts';
import { failurePolicy } from '../apiserver/admission/webhook/failure-policy.ts';
import { WebhookMatcher } from '../apiserver/admission/webhook/matcher.ts';
import { WebhookCaller } from '../apiserver/admission/webhook/webhook-caller.ts';
import { createWebhookClient } from '../apiserver/admission/webhook/webhook-client.ts';
import { CustomResources, type CustomResourcesConfig } from '../apiserver/apiextensions/custom-resources.ts';
import type { Authorizer } from '../apiserver/authorization/authorizer.ts';
import type { LiveObjects } from '../apiserver/live-objects.ts';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Logger } from '../component-base/logger.ts';
import type { MetricsRegistry } from '../component-base/metrics.ts';
import { threadTurns } from '../component-base/thread-turns.ts';
import { serviceEndpoints } from '../registry/core/service-endpoints.ts';

interface Options {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** Addresses of this machine, where webhooks behind Services are not looked for. */
  readonly isMachine?: ((ip: string) => boolean) | undefined;
}

interface WebhookParts {
  readonly live: LiveObjects;
  readonly scheme: Scheme;
  readonly authorizer: Authorizer;
  readonly resolve: ReturnType<typeof serviceEndpoints>;
}

export const endpointsOf = (
  { random, isMachine = () => false }: Options,
  live: LiveObjects,
): ReturnType<typeof serviceEndpoints> =>
  serviceEndpoints({ live, isMachine, pick: (below) => random.uint(below) });

interface Webhooks {
  readonly scheme: Scheme;
  readonly matcher: WebhookMatcher;
  readonly conditions: ConditionChecks;
  readonly caller: WebhookCaller;
  readonly policy: ReturnType<typeof failurePolicy>;
  close(): void;
}

/** What both webhook plugins ask with. */
export function admissionWebhooks(
  { clock, log, metrics, random }: Options,
  { live, scheme, authorizer, resolve }: WebhookParts,
): Webhooks {
  const client = createWebhookClient({ clock, resolve, userAgent: 'kube-apiserver-admission' });
  return {
    scheme,
    matcher: new WebhookMatcher(live, scheme),
    conditions: new ConditionChecks(authorizer),
    caller: new WebhookCaller({ client, clock, random }),
    policy: failurePolicy({ clock, log, metrics }),
    close: () => client.close(),
  };
}

/** An object as it is stored, and more than its own form of another version. */
const maxConvertedBytes = 8 * 1024 * 1024;

/** All that is defined is served. */
export async function customResourcesOf(
  options: Options,
  live: LiveObjects,
  parts: Pick<CustomResourcesConfig, 'api' | 'scheme' | 'rest'>,
): Promise<{ close(): void }> {
  const { clock, log, metrics, random } = options;
  const resolve = endpointsOf(options, live);
  const userAgent = 'kube-apiserver-admission';
  const client = createWebhookClient({ clock, resolve, userAgent, maxAnswerBytes: maxConvertedBytes });
  const conversion = { client, clock, metrics, random, turns: threadTurns };
  const resources = await new CustomResources({ ...parts, clock, log, conversion }).settled();
  return {
    close() {
      resources.close();
      client.close();
    },
  };
}
