// The kind Lease.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { invalid } from '../../../apimachinery/field-error.ts';
import { num, spec, str } from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours } from '../../../apimachinery/kind-behaviour.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { ageCell, nameCell } from '../../meta/row-cells.ts';

function validateLease(lease: JsonObject): Errors {
  const s = spec(lease);
  const errors: Errors = [];
  if (s['leaseDurationSeconds'] !== undefined && num(s['leaseDurationSeconds']) <= 0)
    errors.push(invalid('spec.leaseDurationSeconds', s['leaseDurationSeconds'], 'must be greater than 0'));
  if (num(s['leaseTransitions']) < 0)
    errors.push(
      invalid('spec.leaseTransitions', s['leaseTransitions'], 'must be greater than or equal to 0'),
    );
  return errors;
}

export const coordinationV1: GroupBehaviours = {
  leases: {
    row: (o, now) => [nameCell(o), str(spec(o)['holderIdentity']), ageCell(o, now)],
    strategy: { validate: validateLease, allowCreateOnUpdate: true, allowUnconditionalUpdate: false },
  },
};
