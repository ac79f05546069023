// What a StorageVersionMigration may say, and how its status may go on.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { resourceVersionError } from '../../../apimachinery/resource-version.ts';
import { type Errors, immutable, unchanged } from '../../../apimachinery/validation/checks.ts';
import { conditionsErrors } from '../../../apimachinery/validation/conditions.ts';
import { dns1035Label, dnsSubdomain, type NameRule } from '../../../apimachinery/validation/names.ts';
import type { StorageVersionMigration } from '../../generated/types/storagemigration-v1beta1.ts';

type Migration = Decoded<StorageVersionMigration>;

/** All that is wrong with one name, as one error. */
const joined = (field: string, text: string, rule: NameRule): Errors => {
  const errors = rule(text);
  return errors.length === 0 ? [] : [invalid(field, text, errors.join(','))];
};

export function validateMigration(migration: Migration): Errors {
  const { group = '', resource = '' } = migration.spec?.resource ?? {};
  const at = 'spec.resource';
  return [
    ...(resource === ''
      ? [required(`${at}.resource`, 'resource is required to be set')]
      : joined(`${at}.resource`, resource, dns1035Label)),
    ...(group === '' ? [] : joined(`${at}.group`, group, dnsSubdomain)),
  ];
}

const isTrue = (migration: Migration, type: string): boolean =>
  (migration.status?.conditions ?? []).some((c) => c.type === type && c.status === 'True');

/** Once it is over it stays as it ended, and it began when it did. */
function validateStatus(migration: Migration, old: Migration): Errors {
  const { conditions = [], resourceVersion = '' } = migration.status ?? {};
  const before = old.status?.resourceVersion ?? '';
  const at = 'status.resourceVersion';
  const malformed = resourceVersion === '' ? undefined : resourceVersionError(resourceVersion);
  const errors = malformed === undefined ? [] : [invalid(at, resourceVersion, malformed)];
  errors.push(...conditionsErrors('status.conditions', conditions));
  if (before !== '' && before !== resourceVersion) errors.push(invalid(at, resourceVersion, immutable));
  const refuse = (why: string): void => void errors.push(invalid('status.conditions', conditions, why));
  if (isTrue(migration, 'Succeeded') && isTrue(migration, 'Failed'))
    refuse('Both success and failed conditions cannot be true at the same time');
  if (isTrue(old, 'Succeeded') && !isTrue(migration, 'Succeeded'))
    refuse('Success condition cannot be set to false once it is true');
  if (isTrue(old, 'Failed') && !isTrue(migration, 'Failed'))
    refuse('Failed condition cannot be set to false once it is true');
  return errors;
}

export const validateMigrationUpdate = (
  migration: Migration,
  old: Migration,
  { subresource }: { readonly subresource: string },
): Errors =>
  subresource === 'status' ? validateStatus(migration, old) : unchanged('spec', migration.spec, old.spec);
