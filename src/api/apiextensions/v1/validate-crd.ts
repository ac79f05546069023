// CustomResourceDefinitions as a whole, in upstream's order and words: what may be created, and what may change.
import { findCondition } from '../../../apimachinery/conditions.ts';
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { invalid } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { newErrors, unchanged } from '../../../apimachinery/validation/checks.ts';
import type { CustomResourceDefinition } from '../../generated/types/apiextensions-v1.ts';
import { approvalErrors } from './api-approval.ts';
import { strict, strictnessFor } from './strictness.ts';
import { keptSelectable, namesErrors, specErrors } from './validate-spec.ts';

type Crd = Decoded<CustomResourceDefinition>;

export const validateCustomResourceDefinition = (crd: Crd): Errors => [
  ...nameErrors(crd),
  ...specErrors(crd.spec ?? {}, strict),
  ...storedVersionErrors(crd),
  ...approvalErrors(crd, undefined),
  ...preserveErrors(crd, undefined),
];

/** What was stored under weaker rules stays writable: rules that it broke are not asked again. */
export function validateCustomResourceDefinitionUpdate(crd: Crd, old: Crd): Errors {
  const spec = crd.spec ?? {};
  const before = old.spec ?? {};
  const established = findCondition(old.status?.conditions as never, 'Established') as
    | { status?: string }
    | undefined;
  return [
    ...(semanticEqual(spec, before) ? [] : changedSpecErrors(spec, before)),
    ...(established?.status === 'True'
      ? [
          ...unchanged('spec.scope', spec.scope, before.scope),
          ...unchanged('spec.names.kind', spec.names?.kind, before.names?.kind),
        ]
      : []),
    ...unchanged('spec.group', spec.group, before.group),
    ...unchanged('spec.names.plural', spec.names?.plural, before.names?.plural),
    ...namesErrors('status.acceptedNames', crd.status?.acceptedNames ?? {}),
    ...storedVersionErrors(crd),
    ...approvalErrors(crd, old),
    ...preserveErrors(crd, old),
  ];
}

function changedSpecErrors(spec: NonNullable<Crd['spec']>, before: NonNullable<Crd['spec']>): Errors {
  const strictness = strictnessFor(before);
  const manySelectable = keptSelectable(spec, before);
  return newErrors(specErrors(spec, { ...strictness, manySelectable }), () =>
    // That there were too many excuses only what stayed as it was.
    specErrors(before, { ...strictness, manySelectable: undefined }),
  );
}

export const validateCustomResourceDefinitionStatus = (crd: Crd): Errors =>
  namesErrors('status.acceptedNames', crd.status?.acceptedNames ?? {});

function nameErrors(crd: Crd): Errors {
  const wanted = `${crd.spec?.names?.plural ?? ''}.${crd.spec?.group ?? ''}`;
  // That there is none is said of every kind.
  return (['generateName', 'name'] as const).flatMap((field) => {
    const said = crd.metadata?.[field] ?? '';
    const why = 'must be spec.names.plural+"."+spec.group';
    return said === '' || said === wanted ? [] : [invalid(`metadata.${field}`, said, why)];
  });
}

/** A version in which objects may be stored can't go. */
function storedVersionErrors(crd: Crd): Errors {
  const at = 'status.storedVersions';
  const stored = crd.status?.storedVersions ?? [];
  if (stored.length === 0) return [invalid(at, null, 'must have at least one stored version')];
  const versions = crd.spec?.versions ?? [];
  const errors: Errors = [];
  for (const { name = '', storage } of versions)
    if (storage === true && !stored.includes(name))
      errors.push(invalid(at, stored, `must have the storage version ${name}`));
  for (const [i, name] of stored.entries())
    if (!versions.some((version) => version.name === name))
      errors.push(
        invalid(
          `${at}[${i}]`,
          name,
          `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
        ),
      );
  return errors;
}

const preserveErrors = (crd: Crd, old: Crd | undefined): Errors =>
  crd.spec?.preserveUnknownFields === true && old?.spec?.preserveUnknownFields !== true
    ? [
        invalid(
          'spec.preserveUnknownFields',
          true,
          'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
        ),
      ]
    : [];
