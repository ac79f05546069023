// A structural schema: the JSON schema of a custom resource, as its definition gives it. Read-only data from a client.
import type { JsonObject } from '../json.ts';
import { arr, bool, isObject, obj, str } from '../json-access.ts';

export type StructuralSchema = JsonObject;

export const preserves = (schema: StructuralSchema): boolean =>
  bool(schema['x-kubernetes-preserve-unknown-fields']);
export const isEmbedded = (schema: StructuralSchema): boolean =>
  bool(schema['x-kubernetes-embedded-resource']);
export const isIntOrString = (schema: StructuralSchema): boolean =>
  bool(schema['x-kubernetes-int-or-string']);
export const isNullable = (schema: StructuralSchema): boolean => bool(schema['nullable']);

export const propertiesOf = (schema: StructuralSchema): JsonObject => obj(schema['properties']);
export const propertyOf = (schema: StructuralSchema, name: string): StructuralSchema | undefined => {
  const properties = propertiesOf(schema);
  const found = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(found) ? found : undefined;
};
export const itemsOf = (schema: StructuralSchema): StructuralSchema | undefined =>
  isObject(schema['items']) ? schema['items'] : undefined;

/** The schema of a map's values; `true` when any value goes. */
export function valuesOf(schema: StructuralSchema): StructuralSchema | true | undefined {
  const more = schema['additionalProperties'];
  return isObject(more) ? more : more === true ? true : undefined;
}

export const listTypeOf = (schema: StructuralSchema): string => str(schema['x-kubernetes-list-type']);
export const listKeysOf = (schema: StructuralSchema): string[] =>
  arr(schema['x-kubernetes-list-map-keys']).map((key) => String(key));
