// A structural schema as OpenAPI documents show it, descriptions and all; what version 2 or kubectl can't read is left out
// as upstream leaves it out.
import type { GroupVersionKind, Json, JsonObject } from '../json.ts';
import { isObject, obj, strs } from '../json-access.ts';
import { isEmbedded, isNullable, preserves, type StructuralSchema } from './structural-schema.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const conventions = 'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md';
const apiVersionText = `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${conventions}#resources`;
const kindText = `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${conventions}#types-kinds`;
const metadataText = `Standard object's metadata. More info: ${conventions}#metadata`;
const embeddedVersionText = `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`;
const embeddedKindText = `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`;

type Dialect = 'v2' | 'v3';

export interface Published {
  readonly gvk: GroupVersionKind;
  /** Paths that field selectors may name, `spec.size`. */
  readonly selectable: readonly string[];
}

export function publishedSchema(
  schema: StructuralSchema,
  { gvk, selectable }: Published,
  dialect: Dialect,
): JsonObject {
  const extensions = {
    'x-kubernetes-group-version-kind': [{ ...gvk }],
    ...(selectable.length > 0
      ? { 'x-kubernetes-selectable-fields': selectable.map((fieldPath) => ({ fieldPath })) }
      : {}),
  };
  // With any field named, kubectl would take all others for unknown.
  if (dialect === 'v2' && preserves(schema)) return { type: 'object', ...extensions };
  const shown = shownSchema(schema, dialect);
  const properties: JsonObject = {
    ...obj(shown['properties']),
    apiVersion: { description: apiVersionText, type: 'string' },
    kind: { description: kindText, type: 'string' },
    metadata: metadataOf(dialect),
  };
  return { ...shown, type: 'object', properties, ...extensions };
}

const metadataOf = (dialect: Dialect): JsonObject =>
  dialect === 'v2'
    ? { description: metadataText, $ref: `#/definitions/${objectMeta}` }
    : { description: metadataText, allOf: [{ $ref: `#/components/schemas/${objectMeta}` }] };

/** What is as good as not said: Go leaves it out, and clients take `x-kubernetes-int-or-string: false` for the extension. */
const isNothing = (value: Json | undefined): boolean =>
  value === undefined ||
  value === false ||
  value === '' ||
  (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);

/** Values of the client's, not schemas. */
const asGiven: readonly string[] = ['default', 'example', 'enum', 'additionalProperties'];
const junctors: readonly string[] = ['allOf', 'oneOf', 'anyOf', 'not'];

function hiddenInV2(schema: StructuralSchema): Set<string> {
  const hidden = new Set(junctors);
  const open = preserves(schema);
  if (isNullable(schema)) for (const key of ['type', 'nullable', 'items', 'properties']) hidden.add(key);
  if (open) for (const key of ['items', 'properties']) hidden.add(key);
  const hasItems = schema['items'] !== undefined && !hidden.has('items');
  if ((schema['type'] === 'array' && !hasItems) || (open && schema['type'] === 'object')) hidden.add('type');
  return hidden;
}

function requiredInV2(schema: StructuralSchema): string[] {
  const more = schema['additionalProperties'];
  if (isObject(more) && isNullable(more)) return [];
  const properties = obj(schema['properties']);
  return strs(schema['required']).filter((name) => !isNullable(obj(properties[name])));
}

function shownSchema(schema: StructuralSchema, dialect: Dialect): JsonObject {
  const hidden = dialect === 'v2' ? hiddenInV2(schema) : new Set<string>();
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (hidden.has(key) || (isNothing(value) && !asGiven.includes(key))) continue;
    result[key] = shownPart(key, value, dialect);
  }
  if (dialect === 'v2' && result['required'] !== undefined && !hidden.has('properties')) {
    const required = requiredInV2(schema);
    if (required.length === 0) delete result['required'];
    else result['required'] = required;
  }
  return isEmbedded(schema) && !(dialect === 'v2' && preserves(schema))
    ? asResource(result, dialect)
    : result;
}

function shownPart(key: string, value: Json | undefined, dialect: Dialect): Json {
  if (key === 'properties')
    return Object.fromEntries(
      Object.entries(obj(value)).map(([name, one]) => [name, shownSchema(obj(one), dialect)]),
    );
  if (key === 'items' || key === 'additionalProperties' || key === 'not')
    return isObject(value) ? shownSchema(value, dialect) : (value as Json);
  if (junctors.includes(key) && Array.isArray(value))
    return value.map((one) => shownSchema(obj(one), dialect));
  return structuredClone(value as Json);
}

/** What every object has, in a resource within another. */
function asResource(shown: JsonObject, dialect: Dialect): JsonObject {
  const required = strs(shown['required']);
  return {
    ...shown,
    properties: {
      ...obj(shown['properties']),
      apiVersion: { description: embeddedVersionText, type: 'string' },
      kind: { description: embeddedKindText, type: 'string' },
      metadata: metadataOf(dialect),
    },
    required: [...required, ...['kind', 'apiVersion'].filter((name) => !required.includes(name))],
  };
}
