// Resources within custom resources (x-kubernetes-embedded-resource): they say what they are, and their metadata is metadata.
import type { Json, JsonObject, Scheme } from '../../apimachinery/declaration.ts';
import { type FieldError, fieldErrorText, invalid, required } from '../../apimachinery/field-error.ts';
import { copyJson, isObject, str } from '../../apimachinery/json-access.ts';
import { decodeObject } from '../../apimachinery/schema-decode.ts';
import { DecodeError } from '../../apimachinery/schema-errors.ts';
import {
  isEmbedded,
  itemsOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from '../../apimachinery/structural/structural-schema.ts';
import { dns1035Label, pathSegment } from '../../apimachinery/validation/names.ts';
import { atOnce } from '../../base/turns.ts';
import { validateObjectMeta } from '../registry/object-meta.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';

/** Asked for each object: most schemas hold no resource. */
const known = new WeakMap<StructuralSchema, boolean>();

function holdsResources(schema: StructuralSchema): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const within = [itemsOf(schema), valuesOf(schema)].filter(isObject);
  for (const name of Object.keys(propertiesOf(schema))) within.push(propertyOf(schema, name) ?? {});
  const found = isEmbedded(schema) || within.some(holdsResources);
  known.set(schema, found);
  return found;
}

/** Each of them with its path. */
function* resourcesIn(
  value: Json | undefined,
  schema: StructuralSchema,
  path: string,
): Generator<readonly [resource: JsonObject, path: string]> {
  if (typeof value !== 'object' || value === null || !holdsResources(schema)) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items) for (const [i, item] of value.entries()) yield* resourcesIn(item, items, `${path}[${i}]`);
    return;
  }
  if (isEmbedded(schema)) yield [value, path];
  const values = valuesOf(schema);
  for (const [name, member] of Object.entries(value)) {
    const property = propertyOf(schema, name);
    if (property) yield* resourcesIn(member, property, path === '' ? name : `${path}.${name}`);
    else if (isObject(values)) yield* resourcesIn(member, values, `${path}[${name}]`);
  }
}

/** Reads their metadata in place. Returns the paths of what metadata does not have. */
export function decodeEmbedded(scheme: Scheme, object: JsonObject, schema: StructuralSchema): string[] {
  const unknown: string[] = [];
  for (const [resource, path] of resourcesIn(object, schema, '')) {
    const metadata = resource['metadata'];
    if (!isObject(metadata)) continue;
    for (const field of metadataRead(scheme, metadata, `${path}.metadata`))
      unknown.push(`${path}.metadata.${field}`);
  }
  return unknown;
}

/** In place; the names of what metadata does not have. Which resource it was that can't be read is told with the fault. */
function metadataRead(scheme: Scheme, metadata: JsonObject, path: string): readonly string[] {
  const given = copyJson(metadata);
  try {
    return decodeObject(scheme.plans, objectMeta, metadata).unknownFields;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const told = (why: string): string => fieldErrorText(invalid(path, given, why));
    throw new DecodeError(told(error.message), told(error.ofMap));
  }
}

export function embeddedErrors(object: JsonObject, schema: StructuralSchema): FieldError[] {
  const errors: FieldError[] = [];
  for (const [resource, path] of resourcesIn(object, schema, ''))
    errors.push(...resourceErrors(resource, path));
  return errors;
}

function resourceErrors(resource: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion, kind, metadata } = resource;
  if (apiVersion === undefined) errors.push(required(`${path}.apiVersion`));
  if (kind === undefined) errors.push(required(`${path}.kind`));
  if (apiVersion !== undefined)
    errors.push(...saying(apiVersion, `${path}.apiVersion`, (text) => versionFault(text)));
  if (kind !== undefined) errors.push(...saying(kind, `${path}.kind`, (text) => kindFault(text)));
  if (metadata === undefined) return errors;
  return [...errors, ...(isObject(metadata) ? metadataErrors(metadata, path) : [])];
}

function saying(value: Json, path: string, fault: (text: string) => string | undefined): FieldError[] {
  const why =
    typeof value !== 'string' ? 'must be a string' : value === '' ? 'must not be empty' : fault(value);
  return why === undefined ? [] : [invalid(path, value, why)];
}

const versionFault = (text: string): string | undefined =>
  text.split('/').length > 2 ? `unexpected GroupVersion string: ${text}` : undefined;

function kindFault(text: string): string | undefined {
  const faults = dns1035Label(text.toLowerCase());
  return faults.length === 0
    ? undefined
    : `may have mixed case, but should otherwise match: ${faults.join(',')}`;
}

/** The name may be missing: whoever makes the resource gives it one. */
function metadataErrors(metadata: JsonObject, path: string): FieldError[] {
  const name = str(metadata['name']) || 'fakename';
  const kind = { namespaced: str(metadata['namespace']) !== '', custom: true, group: '' };
  return [
    ...pathSegment(name).map((why) => invalid('metadata.name', name, why)),
    ...atOnce(validateObjectMeta({ ...metadata, name }, kind)),
  ].map((error) => ({ ...error, field: `${path}.${error.field}` }));
}
