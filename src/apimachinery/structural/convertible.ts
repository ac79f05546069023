// What a schema may not say if it is to be made structural at all. While it says so, nothing else of its structure is told.
import type { Json, JsonObject } from '../json.ts';
import { isObject, obj, objs, str } from '../json-access.ts';
import type { StructuralSchema } from './structural-schema.ts';

const isEmpty = (value: Json | undefined): boolean => Object.keys(obj(value)).length === 0;

/** In the order in which upstream looks. */
const unsupported: readonly (readonly [name: string, isSaid: (schema: JsonObject) => boolean])[] = [
  ['id', (schema) => str(schema['id']) !== ''],
  ['schema', (schema) => str(schema['$schema']) !== ''],
  ['$ref', (schema) => str(schema['$ref']) !== ''],
  ['patternProperties', (schema) => !isEmpty(schema['patternProperties'])],
  ['dependencies', (schema) => !isEmpty(schema['dependencies'])],
  ['additionalItems', (schema) => schema['additionalItems'] !== undefined],
  ['definitions', (schema) => !isEmpty(schema['definitions'])],
];

function* schemasWithin(schema: JsonObject): Generator<JsonObject> {
  if (isObject(schema['not'])) yield schema['not'];
  for (const junctor of ['allOf', 'anyOf', 'oneOf']) yield* objs(schema[junctor]);
  if (isObject(schema['items'])) yield schema['items'];
  yield* Object.values(obj(schema['properties'])).filter(isObject);
  if (isObject(schema['additionalProperties'])) yield schema['additionalProperties'];
}

/** Why there is no structural schema of it; undefined: there is, whatever is wrong with that. */
export function conversionFault(schema: StructuralSchema): string | undefined {
  for (const [name, isSaid] of unsupported)
    if (isSaid(schema)) return `OpenAPIV3Schema '${name}' is not supported`;
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  if (objs(schema['items']).length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const one of schemasWithin(schema)) {
    const why = conversionFault(one);
    if (why !== undefined) return why;
  }
  return undefined;
}
