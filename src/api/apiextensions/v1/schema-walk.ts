// All schemas within a schema, each with its path.
import type { Json, JsonObject } from '../../../apimachinery/json.ts';
import { isObject, obj, objs } from '../../../apimachinery/json-access.ts';

/** Maps of schemas, and the schemas that stand alone or in a list. */
const maps: readonly string[] = ['properties', 'patternProperties', 'definitions', 'dependencies'];
const single: readonly string[] = ['items', 'additionalProperties', 'additionalItems', 'not'];
const lists: readonly string[] = ['allOf', 'anyOf', 'oneOf', 'items'];

function* below(schema: JsonObject): Generator<JsonObject> {
  for (const field of single) if (isObject(schema[field])) yield schema[field];
  for (const field of lists) yield* objs(schema[field]);
  for (const field of maps)
    for (const value of Object.values(obj(schema[field]))) if (isObject(value)) yield value;
}

export function hasSchema(schema: Json | undefined, holds: (one: JsonObject) => boolean): boolean {
  if (!isObject(schema)) return false;
  if (holds(schema)) return true;
  for (const one of below(schema)) if (hasSchema(one, holds)) return true;
  return false;
}
