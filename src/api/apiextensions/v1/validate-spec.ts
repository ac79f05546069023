// The spec of a CustomResourceDefinition.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Json, JsonObject } from '../../../apimachinery/json.ts';
import { arr, bool, str } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { dns1035Label, dnsSubdomain, type NameRule } from '../../../apimachinery/validation/names.ts';
import type {
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../generated/types/apiextensions-v1.ts';
import { shownVersions } from './internal-form.ts';
import { hasSchema } from './schema-walk.ts';
import { maxSelectableFields, type Strictness } from './strictness.ts';
import { conversionErrors } from './validate-conversion.ts';
import { versionErrors, versionPartErrors } from './validate-version.ts';

type Version = Decoded<CustomResourceDefinitionVersion>;

/** All faults of one name in one error. */
const joined = (field: string, value: string, rule: NameRule): Errors => {
  const faults = rule(value);
  return faults.length === 0 ? [] : [invalid(field, value, faults.join(','))];
};

function groupErrors(group: string): Errors {
  if (group === '') return [required('spec.group')];
  const errors = joined('spec.group', group, dnsSubdomain);
  if (errors.length > 0 || group.includes('.')) return errors;
  return [invalid('spec.group', group, 'should be a domain with at least one dot')];
}

function scopeErrors(scope: string): Errors {
  const allowed = ['Cluster', 'Namespaced'];
  if (scope === '') return [required('spec.scope')];
  return allowed.includes(scope) ? [] : [notSupported('spec.scope', scope, allowed)];
}

/**
 * What all versions say alike is said of the spec, as upstream holds it: errors then name `spec.validation`, not
 * `spec.versions[0].schema`.
 */
function commonOf(versions: readonly Version[]): Version {
  const [first = {}] = versions;
  const common: Version = {};
  for (const part of ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const)
    if (versions.every((version) => semanticEqual(version[part], first[part])))
      Object.assign(common, { [part]: first[part] });
  return common;
}

const withoutCommon = (version: Version, common: Version): Version =>
  Object.fromEntries(Object.entries(version).filter(([part]) => !Object.hasOwn(common, part)));

/** The schemas of a definition, each with its place in errors; what all versions share comes last. */
export function placedSchemas(
  spec: Decoded<CustomResourceDefinitionSpec>,
): { readonly at: string; readonly schema: JsonObject }[] {
  const versions = spec.versions ?? [];
  const common = commonOf(versions);
  const placed = versions.map((version, i) => ({
    at: `spec.versions[${i}].schema.openAPIV3Schema`,
    schema: withoutCommon(version, common).schema?.openAPIV3Schema,
  }));
  placed.push({ at: 'spec.validation.openAPIV3Schema', schema: common.schema?.openAPIV3Schema });
  return placed.flatMap(({ at, schema }) =>
    schema === undefined ? [] : [{ at, schema: schema as JsonObject }],
  );
}

const saysAnywhere = (versions: readonly Version[], holds: (schema: JsonObject) => boolean): boolean =>
  versions.some(({ schema }) => hasSchema(schema?.openAPIV3Schema as JsonObject | undefined, holds));

const extensions = ['embedded-resource', 'int-or-string', 'list-map-keys', 'list-type', 'validations'].map(
  (name) => `x-kubernetes-${name}`,
);
const hasExtensions = (schema: JsonObject): boolean =>
  schema['x-kubernetes-preserve-unknown-fields'] !== undefined ||
  extensions.some((name) => bool(schema[name]) || str(schema[name]) !== '' || arr(schema[name]).length > 0);

/** How `keptSelectable` names what all versions have in common. */
const ofAll = '';

/** Versions that may keep more selectable fields than new ones: these are as they were. */
export function keptSelectable(
  spec: Decoded<CustomResourceDefinitionSpec>,
  before: Decoded<CustomResourceDefinitionSpec>,
): ReadonlySet<string> {
  const old = selectableByVersion(before);
  const kept = new Set<string>();
  for (const [name, fields] of selectableByVersion(spec)) {
    const was = old.get(name) ?? [];
    if (was.length > maxSelectableFields && semanticEqual(was, fields)) kept.add(name);
  }
  return kept;
}

function selectableByVersion({
  versions = [],
}: Decoded<CustomResourceDefinitionSpec>): Map<string, readonly unknown[]> {
  const common = commonOf(versions);
  const found = versions.map((version): [string, readonly unknown[]] => [
    version.name ?? '',
    withoutCommon(version, common).selectableFields ?? [],
  ]);
  return new Map([...found, [ofAll, common.selectableFields ?? []]]);
}

function missingSchemas(versions: readonly Version[], everyVersion: boolean, preserves: boolean): Errors {
  if (!everyVersion && preserves) return [];
  return versions.flatMap(({ schema, served }, i) => {
    if (schema?.openAPIV3Schema !== undefined || (!everyVersion && served !== true)) return [];
    const at = `spec.versions[${i}].schema.openAPIV3Schema`;
    return [required(at, everyVersion ? '' : 'because otherwise all fields are pruned')];
  });
}

export function specErrors(spec: Decoded<CustomResourceDefinitionSpec>, given: Strictness): Errors {
  const versions = spec.versions ?? [];
  const preserves = spec.preserveUnknownFields === true;
  const hasDefaults = preserves && saysAnywhere(versions, (schema) => schema['default'] !== undefined);
  // Pruning, defaults and Kubernetes' own extensions need a structural schema.
  const isPlain = preserves && !hasDefaults && !saysAnywhere(versions, hasExtensions);
  const rules = isPlain ? given : { ...given, structural: true };
  const common = commonOf(versions);
  const own = versions.map((version) => withoutCommon(version, common));
  const shown = (): Json => shownVersions(spec.versions && own);
  const errors: Errors = [
    ...groupErrors(spec.group ?? ''),
    ...scopeErrors(spec.scope ?? ''),
    ...missingSchemas(versions, given.schemas, preserves),
  ];
  if (hasDefaults)
    errors.push(
      invalid('spec.preserveUnknownFields', true, 'must be false in order to use defaults in the schema'),
    );
  versions.forEach((version, i) => {
    errors.push(...joined(`spec.versions[${i}].name`, version.name ?? '', dns1035Label));
    // The rules of the schema depend on whether status is apart, whoever says so.
    const status = version.subresources?.status !== undefined;
    errors.push(...versionErrors(own[i]!, `spec.versions[${i}]`, { status, rules }));
  });
  if (new Set(versions.map((v) => v.name)).size < versions.length)
    errors.push(invalid('spec.versions', shown(), 'must contain unique version names'));
  if (versions.filter((v) => v.storage === true).length !== 1)
    errors.push(invalid('spec.versions', shown(), 'must have exactly one version marked as storage version'));
  if (versions[0]?.name) errors.push(...joined('spec.version', versions[0].name, dns1035Label));
  const { names = {} } = spec;
  for (const field of ['plural', 'singular', 'kind', 'listKind'] as const)
    if (!names[field]) errors.push(required(`spec.names.${field}`));
  errors.push(...namesErrors('spec.names', names));
  const status = versions.some((version) => version.subresources?.status !== undefined);
  errors.push(
    ...versionPartErrors({ ...common, name: ofAll }, 'spec', {
      status,
      rules,
      schemaAt: 'validation',
    }),
  );
  return [...errors, ...conversionErrors(spec, given.reviewVersions)];
}

export function namesErrors(at: string, names: Decoded<CustomResourceDefinitionNames>): Errors {
  const mixedCase: NameRule = (name) => {
    const faults = dns1035Label(name.toLowerCase());
    return faults.length === 0
      ? []
      : [`may have mixed case, but should otherwise match: ${faults.join(',')}`];
  };
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = names;
  const errors: Errors = [
    ...(plural ? joined(`${at}.plural`, plural, dns1035Label) : []),
    ...(singular ? joined(`${at}.singular`, singular, dns1035Label) : []),
    ...(kind ? joined(`${at}.kind`, kind, mixedCase) : []),
    ...(listKind ? joined(`${at}.listKind`, listKind, mixedCase) : []),
    ...shortNames.flatMap((name, i) => joined(`${at}.shortNames[${i}]`, name, dns1035Label)),
  ];
  if (kind && kind === listKind)
    errors.push(invalid(`${at}.listKind`, listKind, 'kind and listKind may not be the same'));
  return [
    ...errors,
    ...categories.flatMap((name, i) => joined(`${at}.categories[${i}]`, name, dns1035Label)),
  ];
}
