// DefaultStorageClass: a claim that names no class gets the cluster's default one.
import { persistentvolumeclaims, storageclasses } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { requested } from './request/typed-request.ts';

const annotation = 'storageclass.kubernetes.io/is-default-class';
const betaAnnotation = 'storageclass.beta.kubernetes.io/is-default-class';

export function createDefaultStorageClass(live: LiveObjects): AdmissionPlugin {
  return {
    name: 'DefaultStorageClass',
    operations: ['CREATE'],
    admit(request) {
      const claim = requested(request, persistentvolumeclaims);
      if (claim?.spec === undefined || claim.spec.storageClassName !== undefined) return;
      if (claim.metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] !== undefined) return;
      const defaults = live.list(storageclasses).filter((c) => {
        const annotations = c.metadata?.annotations ?? {};
        return annotations[annotation] === 'true' || annotations[betaAnnotation] === 'true';
      });
      // As upstream: the newest, and by name among equals.
      const [chosen] = defaults.sort(
        (a, b) =>
          (b.metadata?.creationTimestamp ?? '').localeCompare(a.metadata?.creationTimestamp ?? '') ||
          (a.metadata?.name ?? '').localeCompare(b.metadata?.name ?? ''),
      );
      if (chosen?.metadata?.name !== undefined) claim.spec.storageClassName = chosen.metadata.name;
    },
  };
}
