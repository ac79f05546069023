// Claims of storage: what they must say and what may change.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, required } from '../../../apimachinery/field-error.ts';
import { compareQuantities, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { changedFields, labelSelector, oneOf, optional } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../generated/types/core-v1.ts';
import type { Quantity } from '../../generated/types/meta-v1.ts';
import { dataSourceErrors, withDataSources } from './claim-data-sources.ts';

const modes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

export function accessModeErrors(field: string, given: readonly string[] = []): Errors {
  const errors: Errors = given.flatMap((mode) => oneOf(field, mode, modes));
  if (given.includes('ReadWriteOncePod') && given.length > 1)
    errors.push(forbidden(field, 'may not use ReadWriteOncePod with other access modes'));
  return errors;
}

/** The spec of a claim; `at` is where it stands, for templates. */
export function validateClaimSpec(s: Decoded<PersistentVolumeClaimSpec>, at: string): Errors {
  const errors: Errors = [];
  if ((s.accessModes ?? []).length === 0)
    errors.push(required(`${at}.accessModes`, 'at least 1 access mode is required'));
  else errors.push(...accessModeErrors(`${at}.accessModes`, s.accessModes));
  errors.push(...labelSelector(`${at}.selector`, s.selector));
  const storage = s.resources?.requests?.storage;
  if (storage === undefined) errors.push(required(`${at}.resources[storage]`));
  else errors.push(...positiveQuantity(`${at}.resources[storage]`, storage));
  errors.push(...optional(`${at}.storageClassName`, s.storageClassName, dnsSubdomain));
  if (s.volumeMode !== undefined)
    errors.push(...oneOf(`${at}.volumeMode`, s.volumeMode, ['Block', 'Filesystem']));
  errors.push(...dataSourceErrors(s, at));
  errors.push(...optional(`${at}.volumeAttributesClassName`, s.volumeAttributesClassName, dnsSubdomain));
  return errors;
}

export const positiveQuantity = (field: string, value: Quantity): Errors =>
  (tryParseQuantity(value)?.nano ?? 1n) <= 0n
    ? [invalid(field, String(value), 'must be greater than zero')]
    : [];

export const validateClaim = (claim: Decoded<PersistentVolumeClaim>): Errors =>
  validateClaimSpec(claim.spec ?? {}, 'spec');

export function validateClaimUpdate(
  claim: Decoded<PersistentVolumeClaim>,
  old: Decoded<PersistentVolumeClaim>,
): Errors {
  const { spec: s = {} } = claim;
  // One that was stored before there were two fields is told as if it had both.
  const before = withDataSources(old.spec ?? {});
  const errors: Errors = [];
  const munged: Decoded<PersistentVolumeClaimSpec> = {
    ...s,
    resources: before.resources,
    volumeAttributesClassName: before.volumeAttributesClassName,
  };
  // A claim is bound by writing its volume's name once.
  if (!before.volumeName) munged.volumeName = before.volumeName;
  if (before.storageClassName === undefined) munged.storageClassName = before.storageClassName;
  const changed = changedFields(munged, before);
  if (changed.length > 0)
    errors.push(
      forbidden(
        'spec',
        `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${changed.map((k) => `changed: spec.${k}`).join('\n')}`,
      ),
    );
  const [next, was] = [storageOf(s), storageOf(before)];
  if (next && was && compareQuantities(next, was) !== 0) {
    if (old.status?.phase !== 'Bound')
      errors.push(
        forbidden(
          'spec',
          'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\nchanged: spec.resources',
        ),
      );
    const capacity = tryParseQuantity(old.status?.capacity?.storage);
    if (capacity && compareQuantities(next, was) < 0 && compareQuantities(next, capacity) < 0)
      errors.push(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'));
  }
  return errors;
}
const storageOf = (s: Decoded<PersistentVolumeClaimSpec>): ReturnType<typeof tryParseQuantity> =>
  tryParseQuantity(s.resources?.requests?.storage);
