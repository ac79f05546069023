// MutatingAdmissionWebhook: asks the webhooks that may change an object.
import { mutatingwebhookconfigurations } from '../../api/generated/resources.ts';
import type { Scheme } from '../../apimachinery/declaration.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { isExempt } from '../../apiserver/admission/webhook/matcher.ts';
import { MutatingDispatch } from '../../apiserver/admission/webhook/mutating-dispatch.ts';
import type { DispatchDeps } from '../../apiserver/admission/webhook/validating-dispatch.ts';
import { webhookSource } from '../../apiserver/admission/webhook/webhook-source.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';

export function createMutatingAdmissionWebhook(
  live: LiveObjects,
  deps: DispatchDeps & { readonly scheme: Scheme },
): AdmissionPlugin {
  const webhooks = webhookSource(live, mutatingwebhookconfigurations);
  const mutating = new MutatingDispatch(deps);
  return {
    name: 'MutatingAdmissionWebhook',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    admit(request) {
      const all = webhooks();
      return all.length === 0 || isExempt(request) ? undefined : mutating.dispatch(request, all);
    },
  };
}
