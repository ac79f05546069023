// PersistentVolumeClaimResize: a claim may ask for more only where its class says that its volumes can grow.
import { persistentvolumeclaims, storageclasses } from '../../api/generated/resources.ts';
import type { PersistentVolumeClaim } from '../../api/generated/types/core-v1.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import {
  compareQuantities,
  type Quantity,
  tryParseQuantity,
  zeroQuantity,
} from '../../apimachinery/quantity.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { previous, requested } from './request/typed-request.ts';

const asked = (claim: PersistentVolumeClaim): Quantity =>
  tryParseQuantity(claim.spec?.resources?.requests?.['storage']) ?? zeroQuantity;

/** The annotation of old comes before the field. */
const classOf = ({ metadata, spec }: PersistentVolumeClaim): string =>
  metadata?.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName ?? '';

export function createPersistentVolumeClaimResize(live: LiveObjects): AdmissionPlugin {
  const mayGrow = (claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean => {
    const name = classOf(claim);
    if (name === '' || name !== classOf(old)) return false;
    return live.get(storageclasses, name)?.allowVolumeExpansion === true;
  };
  return {
    name: 'PersistentVolumeClaimResize',
    operations: ['UPDATE'],
    validate(request) {
      const claim = requested(request, persistentvolumeclaims);
      const old = previous(request, persistentvolumeclaims);
      if (claim === undefined || old === undefined || compareQuantities(asked(claim), asked(old)) <= 0)
        return;
      const refuse = (why: string): never => {
        throw forbidden(request.declaration, request.name, why);
      };
      if (old.status?.phase !== 'Bound') refuse('Only bound persistent volume claims can be expanded');
      if (!mayGrow(claim, old))
        refuse(
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        );
    },
  };
}
