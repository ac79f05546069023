// StorageObjectInUseProtection: claims and volumes get the finalizer that keeps them while they are used.
import { persistentvolumeclaims, persistentvolumes } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { requested } from './request/typed-request.ts';

export function createStorageObjectInUseProtection(): AdmissionPlugin {
  const protect = (
    object: { metadata?: { finalizers?: string[] | undefined } | undefined },
    name: string,
  ): void => {
    const metadata = object.metadata;
    if (metadata === undefined || metadata.finalizers?.includes(name)) return;
    metadata.finalizers = [...(metadata.finalizers ?? []), name];
  };
  return {
    name: 'StorageObjectInUseProtection',
    operations: ['CREATE'],
    admit(request) {
      const claim = requested(request, persistentvolumeclaims);
      if (claim !== undefined) protect(claim, 'kubernetes.io/pvc-protection');
      const volume = requested(request, persistentvolumes);
      if (volume !== undefined) protect(volume, 'kubernetes.io/pv-protection');
    },
  };
}
