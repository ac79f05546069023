// ValidatingAdmissionWebhook: asks the webhooks that may refuse an object.
import { validatingwebhookconfigurations } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { isExempt } from '../../apiserver/admission/webhook/matcher.ts';
import {
  type DispatchDeps,
  dispatchValidating,
} from '../../apiserver/admission/webhook/validating-dispatch.ts';
import { webhookSource } from '../../apiserver/admission/webhook/webhook-source.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';

export function createValidatingAdmissionWebhook(live: LiveObjects, deps: DispatchDeps): AdmissionPlugin {
  const webhooks = webhookSource(live, validatingwebhookconfigurations);
  return {
    name: 'ValidatingAdmissionWebhook',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    validate(request) {
      const all = webhooks();
      return all.length === 0 || isExempt(request) ? undefined : dispatchValidating(deps, request, all);
    },
  };
}
