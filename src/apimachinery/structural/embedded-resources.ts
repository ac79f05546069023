// Resources within custom resources (x-kubernetes-embedded-resource): they say what they are, and their metadata is metadata.
import { atOnce } from '../../base/turns.ts';
import { type FieldError, fieldErrorText, invalid, required } from '../field-error.ts';
import type { Json, JsonObject } from '../json.ts';
import { copyJson, isObject, str } from '../json-access.ts';
import type { PlanSource } from '../plan.ts';
import { decodeObject } from '../schema-decode.ts';
import { cannotUnmarshal, DecodeError, goValueName } from '../schema-errors.ts';
import { dns1035Label, pathSegment } from '../validation/names.ts';
import { validateObjectMeta } from '../validation/object-meta.ts';
import {
  isEmbedded,
  itemsOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from './structural-schema.ts';

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

const child = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

/** Each of them with its path. `isOne`: the value itself, whatever its schema says. */
function* resourcesIn(
  value: Json | undefined,
  schema: StructuralSchema,
  path: string,
  isOne = false,
): Generator<readonly [resource: JsonObject, path: string]> {
  if (typeof value !== 'object' || value === null || !(isOne || holdsResources(schema))) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items) for (const [i, item] of value.entries()) yield* resourcesIn(item, items, `${path}[${i}]`);
    return;
  }
  if (isOne || isEmbedded(schema)) yield [value, path];
  const values = valuesOf(schema);
  for (const [name, member] of Object.entries(value)) {
    const property = propertyOf(schema, name);
    if (property) yield* resourcesIn(member, property, child(path, name));
    else if (isObject(values)) yield* resourcesIn(member, values, `${path}[${name}]`);
  }
}

/** Reads their metadata in place. Returns the paths of what metadata does not have. */
export function decodeEmbedded(plans: PlanSource, object: JsonObject, schema: StructuralSchema): string[] {
  const unknown: string[] = [];
  for (const [resource, path] of resourcesIn(object, schema, '')) {
    const metadata = resource['metadata'];
    if (!isObject(metadata)) continue;
    for (const field of metadataRead(plans, metadata, `${path}.metadata`))
      unknown.push(`${path}.metadata.${field}`);
  }
  return unknown;
}

/** In place; the names of what metadata does not have. Which resource it was that can't be read is told with the fault. */
function metadataRead(plans: PlanSource, metadata: JsonObject, path: string): readonly string[] {
  const given = copyJson(metadata);
  try {
    return decodeObject(plans, objectMeta, metadata).unknownFields;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const told = (why: string): string => fieldErrorText(invalid(path, given, why));
    throw new DecodeError(told(error.message), told(error.ofMap));
  }
}

export function embeddedErrors(
  value: Json,
  schema: StructuralSchema,
  at: { readonly path: string; readonly isOne: boolean } = { path: '', isOne: false },
): FieldError[] {
  const errors: FieldError[] = [];
  for (const [resource, path] of resourcesIn(value, schema, at.path, at.isOne))
    errors.push(...resourceErrors(resource, path));
  return errors;
}

/** The first that can't be read as what every object has. Nothing is changed. */
export function embeddedFault(
  value: Json,
  schema: StructuralSchema,
  at: { readonly path: string; readonly isOne: boolean },
  plans: () => PlanSource,
): FieldError | undefined {
  for (const [resource, path] of resourcesIn(value, schema, at.path, at.isOne)) {
    for (const name of ['apiVersion', 'kind']) {
      const said = resource[name];
      if (said !== undefined && typeof said !== 'string')
        return invalid(child(path, name), said, 'must be a string');
    }
    const { metadata } = resource;
    const why = metadata === undefined || metadata === null ? undefined : metadataFault(metadata, plans());
    if (why !== undefined) return invalid(child(path, 'metadata'), metadata, why);
  }
  return undefined;
}

function metadataFault(metadata: Json, plans: PlanSource): string | undefined {
  if (!isObject(metadata)) return cannotUnmarshal(goValueName(metadata), '', [], 'v1.ObjectMeta').message;
  try {
    decodeObject(plans, objectMeta, structuredClone(metadata));
    return undefined;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return error.message;
  }
}

function resourceErrors(resource: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion, kind, metadata } = resource;
  const [versionAt, kindAt] = [child(path, 'apiVersion'), child(path, 'kind')];
  if (apiVersion === undefined) errors.push(required(versionAt));
  if (kind === undefined) errors.push(required(kindAt));
  if (apiVersion !== undefined) errors.push(...saying(apiVersion, versionAt, (text) => versionFault(text)));
  if (kind !== undefined) errors.push(...saying(kind, kindAt, (text) => kindFault(text)));
  return isObject(metadata) ? [...errors, ...metadataErrors(metadata, path)] : errors;
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
  ].map((error) => ({ ...error, field: child(path, error.field) }));
}
