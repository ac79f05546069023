// All webhooks of one kind, in the order in which they are asked; made anew when a configuration was written.
import type {
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from '../../../api/generated/types/admissionregistration-v1.ts';
import { nameOf } from '../../../apimachinery/json-access.ts';
import type { ResourceRef } from '../../../apimachinery/resource-ref.ts';
import type { LiveObjects } from '../../live-objects.ts';
import { type Webhook, webhooksOf } from './webhook.ts';

type Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

export function webhookSource(
  live: LiveObjects,
  resource: ResourceRef<Configuration>,
): () => readonly Webhook[] {
  let version = -1;
  let webhooks: readonly Webhook[] = [];
  return () => {
    const now = live.version(resource);
    if (now !== version) {
      version = now;
      webhooks = [...live.list(resource)]
        .sort((a, b) => (nameOf(a as never) < nameOf(b as never) ? -1 : 1))
        .flatMap(webhooksOf);
    }
    return webhooks;
  };
}
