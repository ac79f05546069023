// A structural schema as OpenAPI documents show it, descriptions and all.
import type { GroupVersionKind, Json, JsonObject } from '../json.ts';
import { isObject, obj } from '../json-access.ts';
import { isEmbedded, preserves, type StructuralSchema } from './structural-schema.ts';

const objectMeta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const apiVersionText =
  'APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources';
const kindText =
  'Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds';
const metadataText =
  "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/** What version 2 can't say. */
const notInV2: readonly string[] = [
  'nullable',
  'default',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'x-kubernetes-validations',
];

export function publishedSchema(
  schema: StructuralSchema,
  gvk: GroupVersionKind,
  dialect: 'v2' | 'v3',
): JsonObject {
  const shown = dialect === 'v3' ? structuredClone(schema) : plain(schema);
  const ref = (dialect === 'v2' ? '#/definitions/' : '#/components/schemas/') + objectMeta;
  const properties: JsonObject = {
    ...obj(shown['properties']),
    apiVersion: { description: apiVersionText, type: 'string' },
    kind: { description: kindText, type: 'string' },
    metadata:
      dialect === 'v2'
        ? { description: metadataText, $ref: ref }
        : { description: metadataText, allOf: [{ $ref: ref }] },
  };
  return { ...shown, type: 'object', properties, 'x-kubernetes-group-version-kind': [{ ...gvk }] };
}

function plain(schema: StructuralSchema): JsonObject {
  // Old clients would refuse fields that such an object may well have.
  const open = preserves(schema) || isEmbedded(schema);
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (notInV2.includes(key) || (open && (key === 'properties' || key === 'type' || key === 'items')))
      continue;
    result[key] =
      key === 'properties'
        ? eachPlain(value)
        : isObject(value) && key !== 'enum'
          ? plain(value)
          : (value as Json);
  }
  return result;
}

const eachPlain = (properties: Json | undefined): JsonObject =>
  Object.fromEntries(
    Object.entries(obj(properties)).map(([name, value]) => [name, isObject(value) ? plain(value) : value]),
  );
