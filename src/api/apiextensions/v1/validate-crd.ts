// CustomResourceDefinitions: names, versions, and that a schema is given.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, named, oneOf, unchanged } from '../../../apimachinery/validation/checks.ts';
import { dns1035Label, dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
} from '../../generated/types/apiextensions-v1.ts';
import { patternErrors } from './validate-patterns.ts';

export function validateCustomResourceDefinition(crd: Decoded<CustomResourceDefinition>): Errors {
  const s = crd.spec ?? {};
  const names = s.names ?? {};
  const errors: Errors = [];
  const wanted = `${names.plural ?? ''}.${s.group ?? ''}`;
  if ((crd.metadata?.name ?? '') !== wanted)
    errors.push(
      invalid('metadata.name', crd.metadata?.name ?? '', 'must be spec.names.plural+"."+spec.group'),
    );
  errors.push(...named('spec.group', s.group, dnsSubdomain));
  if (s.group && !(s.group ?? '').includes('.'))
    errors.push(invalid('spec.group', s.group, 'should be a domain with at least one dot'));
  errors.push(...oneOf('spec.scope', s.scope, ['Cluster', 'Namespaced']));
  errors.push(...named('spec.names.plural', names.plural, dns1035Label));
  if (names.singular) errors.push(...each('spec.names.singular', names.singular, dns1035Label));
  errors.push(...named('spec.names.kind', names.kind, (kind) => dns1035Label(kind.toLowerCase())));
  errors.push(...named('spec.names.listKind', names.listKind, (kind) => dns1035Label(kind.toLowerCase())));
  if (names.kind && names.kind === names.listKind)
    errors.push(invalid('spec.names.listKind', names.listKind, 'kind and listKind may not be the same'));
  return [...errors, ...versionErrors(s.versions ?? [], s.preserveUnknownFields === true)];
}

function versionErrors(
  versions: readonly Decoded<CustomResourceDefinitionVersion>[],
  preserve: boolean,
): Errors {
  const errors: Errors = [];
  if (preserve)
    errors.push(
      invalid(
        'spec.preserveUnknownFields',
        true,
        'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ),
    );
  const seen = new Set<string>();
  versions.forEach((version, i) => {
    const at = `spec.versions[${i}]`;
    const name = version.name ?? '';
    errors.push(...each(`${at}.name`, name, dns1035Label));
    if (seen.has(name)) errors.push(duplicate(`${at}.name`, name));
    seen.add(name);
    const schema = version.schema?.openAPIV3Schema;
    if (schema !== undefined)
      errors.push(...patternErrors(schema as JsonObject, `${at}.schema.openAPIV3Schema`));
    if (schema === undefined) errors.push(required(`${at}.schema.openAPIV3Schema`, 'schemas are required'));
    else if ((schema.type ?? '') !== 'object')
      errors.push(
        !schema.type
          ? required(`${at}.schema.openAPIV3Schema.type`, 'must not be empty at the root')
          : invalid(`${at}.schema.openAPIV3Schema.type`, schema.type, 'must be object at the root'),
      );
  });
  const stored = versions.filter((v) => v.storage === true).length;
  if (stored !== 1)
    errors.push(
      invalid('spec.versions', versions, 'must have exactly one version marked as storage version'),
    );
  return errors;
}

export const customResourceDefinitionStays = (
  crd: Decoded<CustomResourceDefinition>,
  old: Decoded<CustomResourceDefinition>,
): Errors => [
  ...unchanged('spec.group', crd.spec?.group, old.spec?.group),
  ...unchanged('spec.names.plural', crd.spec?.names?.plural, old.spec?.names?.plural),
  ...unchanged('spec.scope', crd.spec?.scope, old.spec?.scope),
];
