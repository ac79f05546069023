// The kind Lease.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid } from '../../../apimachinery/field-error.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import type { Lease } from '../../generated/types/coordination-v1.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

function validateLease(lease: Decoded<Lease>): Errors {
  const s = lease.spec ?? {};
  const errors: Errors = [];
  if (s.leaseDurationSeconds !== undefined && (s.leaseDurationSeconds ?? 0) <= 0)
    errors.push(invalid('spec.leaseDurationSeconds', s.leaseDurationSeconds, 'must be greater than 0'));
  if ((s.leaseTransitions ?? 0) < 0)
    errors.push(invalid('spec.leaseTransitions', s.leaseTransitions, 'must be greater than or equal to 0'));
  return errors;
}

export const coordinationV1: GroupBehaviours<{ leases: Lease }> = {
  leases: {
    row: (o, now) => [nameCell(o), o.spec?.holderIdentity ?? '', ageCell(o, now)],
    strategy: { validate: validateLease, allowCreateOnUpdate: true, allowUnconditionalUpdate: false },
  },
};
