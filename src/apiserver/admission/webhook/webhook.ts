// One webhook of a configuration, with what is the same for every request worked out.
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
  WebhookClientConfig,
} from '../../../api/generated/types/admissionregistration-v1.ts';
import { type Selector, selectorFrom } from '../../../apimachinery/label-selector.ts';

type Rule = NonNullable<MutatingWebhook['rules']>[number];

export interface Webhook {
  /** Of all webhooks of its kind. */
  readonly id: string;
  readonly name: string;
  readonly configuration: string;
  readonly client: WebhookClientConfig;
  readonly rules: readonly Rule[];
  /** Expressions that must hold. */
  readonly conditions: readonly string[];
  readonly equivalent: boolean;
  /** An error: of a configuration from before selectors were checked. */
  readonly namespaces: Selector | Error;
  readonly objects: Selector | Error;
  /** Whether the request goes on when the webhook can't be asked. */
  readonly failsOpen: boolean;
  readonly timeoutMs: number;
  /** It may be asked in a dry run. */
  readonly harmless: boolean;
  readonly reviewVersions: readonly string[];
  /** It may be asked again when others changed the object after it. */
  readonly reinvoked: boolean;
}

const defaultTimeoutSeconds = 10;

/** Nothing is everything. */
export function selectorOrError(selector: MutatingWebhook['objectSelector']): Selector | Error {
  try {
    return selectorFrom(selector ?? {});
  } catch (error) {
    return error as Error;
  }
}

function webhookOf(hook: MutatingWebhook, configuration: string, id: string): Webhook {
  return {
    id,
    name: hook.name,
    configuration,
    client: hook.clientConfig,
    rules: hook.rules ?? [],
    conditions: (hook.matchConditions ?? []).map(({ expression }) => expression),
    equivalent: hook.matchPolicy !== 'Exact',
    namespaces: selectorOrError(hook.namespaceSelector),
    objects: selectorOrError(hook.objectSelector),
    failsOpen: hook.failurePolicy === 'Ignore',
    timeoutMs: (hook.timeoutSeconds ?? defaultTimeoutSeconds) * 1000,
    harmless: hook.sideEffects === 'None' || hook.sideEffects === 'NoneOnDryRun',
    reviewVersions: hook.admissionReviewVersions,
    reinvoked: hook.reinvocationPolicy === 'IfNeeded',
  };
}

/** Names of webhooks of old configurations need not differ: their place among those of a name tells them apart. */
export function webhooksOf(
  configuration: MutatingWebhookConfiguration | ValidatingWebhookConfiguration,
): readonly Webhook[] {
  const name = configuration.metadata.name ?? '';
  const seen = new Map<string, number>();
  return (configuration.webhooks ?? []).map((hook) => {
    const nth = seen.get(hook.name) ?? 0;
    seen.set(hook.name, nth + 1);
    return webhookOf(hook, name, `${name}/${hook.name}/${nth}`);
  });
}
