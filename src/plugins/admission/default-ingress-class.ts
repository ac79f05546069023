// DefaultIngressClass: an ingress that names no class gets the cluster's default one.
import { ingressclasses, ingresses } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { requested } from './request/typed-request.ts';

export function createDefaultIngressClass(live: LiveObjects): AdmissionPlugin {
  return {
    name: 'DefaultIngressClass',
    operations: ['CREATE'],
    admit(request) {
      const ingress = requested(request, ingresses);
      if (ingress === undefined || ingress.spec?.ingressClassName !== undefined) return;
      if (ingress.metadata?.annotations?.['kubernetes.io/ingress.class'] !== undefined) return;
      const defaults = live
        .list(ingressclasses)
        .filter((c) => c.metadata?.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true')
        .sort(
          (a, b) =>
            (b.metadata?.creationTimestamp ?? '').localeCompare(a.metadata?.creationTimestamp ?? '') ||
            (a.metadata?.name ?? '').localeCompare(b.metadata?.name ?? ''),
        );
      const name = defaults[0]?.metadata?.name;
      if (name !== undefined) ingress.spec = { ...ingress.spec, ingressClassName: name };
    },
  };
}
