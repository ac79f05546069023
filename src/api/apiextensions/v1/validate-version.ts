// One version of a CustomResourceDefinition: its schema, subresources, columns and selectable fields.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, forbidden, invalid, required, tooMany } from '../../../apimachinery/field-error.ts';
import type { Json, JsonObject } from '../../../apimachinery/json.ts';
import { bool, str } from '../../../apimachinery/json-access.ts';
import { conversionFault } from '../../../apimachinery/structural/convertible.ts';
import { fieldInSchema } from '../../../apimachinery/structural/field-in-schema.ts';
import { structuralErrors } from '../../../apimachinery/structural/structural-rules.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinitionVersion,
} from '../../generated/types/apiextensions-v1.ts';
import { shownSchema } from './internal-form.ts';
import { schemaDefaultErrors } from './schema-defaults.ts';
import { maxSelectableFields, type Strictness } from './strictness.ts';
import { definitionSchemaErrors } from './validate-schema.ts';

type Version = Decoded<CustomResourceDefinitionVersion>;

export interface VersionRules {
  /** The status is a subresource. */
  readonly status: boolean;
  readonly rules: Strictness;
}

export const versionErrors = (version: Version, at: string, rules: VersionRules): Errors => [
  ...deprecationErrors(version, `${at}.deprecationWarning`),
  ...versionPartErrors(version, at, { ...rules, schemaAt: 'schema' }),
];

/** Also of what all versions have in common. */
export function versionPartErrors(
  version: Version,
  at: string,
  { status, rules, schemaAt }: VersionRules & { readonly schemaAt: 'schema' | 'validation' },
): Errors {
  const schema = version.schema?.openAPIV3Schema as JsonObject | undefined;
  return [
    ...(schema === undefined
      ? []
      : wholeSchemaErrors(schema, `${at}.${schemaAt}.openAPIV3Schema`, status, rules)),
    ...scaleErrors(version, `${at}.subresources`),
    ...(version.additionalPrinterColumns ?? []).flatMap((column, i) =>
      columnErrors(column, `${at}.additionalPrinterColumns[${i}]`),
    ),
    ...selectableErrors(version, `${at}.selectableFields`, rules, withoutSchema[schemaAt]),
  ];
}

function deprecationErrors({ deprecated, deprecationWarning }: Version, at: string): Errors {
  if (deprecationWarning === undefined) return [];
  const faults: string[] = [];
  if (deprecated !== true) faults.push('can only be set for deprecated versions');
  else {
    if (Buffer.byteLength(deprecationWarning) > 256) faults.push('must be <= 256 characters long');
    if (deprecationWarning === '') faults.push('must not be an empty string');
    const index = deprecationWarning.search(/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u);
    if (index >= 0) {
      const bytes = Buffer.byteLength(deprecationWarning.slice(0, index));
      faults.push(
        `must only contain printable UTF-8 characters; non-printable character found at index ${bytes}`,
      );
    }
  }
  return faults.map((why) => invalid(at, deprecationWarning, why));
}

const atRoot = [
  'Description',
  'Type',
  'Format',
  'Title',
  'Maximum',
  'ExclusiveMaximum',
  'Minimum',
  'ExclusiveMinimum',
  'MaxLength',
  'MinLength',
  'Pattern',
  'MaxItems',
  'MinItems',
  'UniqueItems',
  'MultipleOf',
  'Required',
  'Items',
  'Properties',
  'ExternalDocs',
  'Example',
  'XPreserveUnknownFields',
  'XValidations',
];
const allowedAtRoot = new Set([
  ...atRoot.map((name) => name.charAt(0).toLowerCase() + name.slice(1)),
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
]);

const isSet = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && value !== false && value !== '';

/** Of the root, so that what is said of the status is said below `properties`. */
function statusErrors(schema: JsonObject, at: string): Errors {
  if (isSet(schema['type']) && schema['type'] !== 'object')
    return [
      invalid(
        `${at}.type`,
        str(schema['type']),
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      ),
    ];
  if (Object.entries(schema).every(([field, value]) => allowedAtRoot.has(field) || !isSet(value))) return [];
  const why = `only [${atRoot.join(' ')}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalid(at, shownSchema(schema), why)];
}

function wholeSchemaErrors(schema: JsonObject, at: string, status: boolean, rules: Strictness): Errors {
  const errors: Errors = status ? statusErrors(schema, at) : [];
  if (bool(schema['nullable']))
    errors.push(forbidden(`${at}.nullable`, 'nullable cannot be true at the root'));
  const fault = rules.structural ? conversionFault(schema) : undefined;
  if (rules.structural && fault === undefined) {
    const structure = structuralErrors(schema, at);
    errors.push(
      ...(structure.length > 0 ? structure : schemaDefaultErrors(schema, at, rules.prunedDefaults)),
    );
  }
  errors.push(...definitionSchemaErrors(schema, at, rules));
  // What can't be made structural is mostly said better by the others.
  return errors.length === 0 && fault !== undefined ? [invalid(at, '', fault)] : errors;
}

function pathErrors(path: string, at: string, roots: readonly string[]): Errors {
  if (path === '') return [required(at)];
  if (!path.startsWith('.')) return [invalid(at, path, 'must be a simple json path starting with .')];
  if (roots.length === 0 || roots.some((root) => path.startsWith(`.${root}.`))) return [];
  const where = roots.length > 1 ? `either .${roots.join(' or .')}` : `.${roots[0]}`;
  return [invalid(at, path, `should be a json path under ${where}`)];
}

function scaleErrors({ subresources }: Version, at: string): Errors {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const { specReplicasPath = '', statusReplicasPath = '', labelSelectorPath = '' } = scale;
  return [
    ...pathErrors(specReplicasPath, `${at}.scale.specReplicasPath`, ['spec']),
    ...pathErrors(statusReplicasPath, `${at}.scale.statusReplicasPath`, ['status']),
    ...(labelSelectorPath === ''
      ? []
      : pathErrors(labelSelectorPath, `${at}.scale.labelSelectorPath`, ['spec', 'status'])),
  ];
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

function columnErrors(column: Decoded<CustomResourceColumnDefinition>, at: string): Errors {
  const { name = '', type = '', format = '', jsonPath = '' } = column;
  const errors: Errors = name === '' ? [required(`${at}.name`)] : [];
  const types = `must be one of ${columnTypes.join(',')}`;
  if (type === '') errors.push(required(`${at}.type`, types));
  else if (!columnTypes.includes(type)) errors.push(invalid(`${at}.type`, type, types));
  if (format !== '' && !columnFormats.includes(format))
    errors.push(invalid(`${at}.format`, format, `must be one of ${columnFormats.join(',')}`));
  return [...errors, ...pathErrors(jsonPath, `${at}.JSONPath`, [])];
}

const withoutSchema = {
  schema: 'may only be set when `version.schema.openAPIV3Schema` is not included',
  validation: 'may only be set when validations.schema is included',
};
const selectableTypes = ['string', 'boolean', 'integer'];

function selectableErrors(
  version: Version,
  at: string,
  { manySelectable }: Strictness,
  withoutSchema: string,
): Errors {
  const fields = version.selectableFields ?? [];
  const schema = version.schema?.openAPIV3Schema as JsonObject | undefined;
  // Upstream's too when all versions have one of the two in common and not the other.
  if (fields.length > 0 && schema === undefined) return [invalid(at, '', withoutSchema)];
  const errors: Errors = [];
  const seen = new Set<string>();
  for (const [i, { jsonPath = '' }] of fields.entries()) {
    const here = `${at}[${i}].jsonPath`;
    if (jsonPath === '') {
      errors.push(required(here));
      continue;
    }
    const found = fieldInSchema(jsonPath, schema ?? {}, { brackets: false });
    if ('error' in found) {
      errors.push(invalid(here, jsonPath, `is an invalid path: ${found.error}`));
      continue;
    }
    if (found.path[0] === 'metadata')
      errors.push(invalid(here, jsonPath, 'must not point to fields in metadata'));
    if (!selectableTypes.includes(str(found.schema['type'])))
      errors.push(
        invalid(
          here,
          jsonPath,
          'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
        ),
      );
    const path = found.path.join('.');
    if (seen.has(path)) errors.push(duplicate(here, jsonPath));
    seen.add(path);
  }
  if (seen.size > maxSelectableFields && manySelectable?.has(version.name ?? '') === false)
    errors.push(tooMany(at, seen.size, maxSelectableFields));
  return errors;
}
