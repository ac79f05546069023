// How the elements of associative lists are named in paths, and what is wrong with lists that cannot be named.
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import type { ListKey } from './typed-schema.ts';

/** Throws this when an object does not fit its schema; the caller says which object. */
export class TypedError extends Error {}

/** `k:{"containerPort":80,"protocol":"TCP"}`. Keys are sorted; absent ones have the schema's default. */
export function keyElement(
  item: Json | undefined,
  keys: readonly ListKey[],
  path: string,
  index: number,
): string {
  if (!isJsonObject(item))
    throw new TypedError(
      `${path}: element ${index}: associative list with keys may not have non-map elements`,
    );
  let text = 'k:{';
  let first = true;
  let found = false;
  let missing: ListKey | undefined;
  for (const key of keys) {
    const given = own(item, key.name);
    if (given !== undefined) found = true;
    else if (key.default === undefined) missing ??= key;
    const value = given ?? key.default;
    if (value === undefined || value === null) continue;
    if (typeof value === 'object')
      throw new TypedError(`${path}: element ${index}: key field "${key.name}" must be a scalar`);
    text += `${first ? '' : ','}${JSON.stringify(key.name)}:${JSON.stringify(value)}`;
    first = false;
  }
  if (first || (!found && missing !== undefined) || (missing !== undefined && keys.length === 1))
    throw new TypedError(
      `${path}: element ${index}: associative list with keys has an element that omits key field "${(missing ?? keys[0])?.name}" (and doesn't have default value)`,
    );
  return `${text}}`;
}

export const valueElement = (item: Json | undefined): string => `v:${JSON.stringify(item ?? null)}`;

/** Elements by name, in order. When a list that is stored has a name twice, the first one counts. */
export function elementsOf(
  list: readonly Json[],
  nameOf: (item: Json, index: number) => string,
): Map<string, Json> {
  const elements = new Map<string, Json>();
  list.forEach((item, index) => {
    const name = nameOf(item, index);
    if (!elements.has(name)) elements.set(name, item);
  });
  return elements;
}

export const isEmptyContainer = (value: Json | undefined): boolean =>
  value === null || (Array.isArray(value) ? value.length === 0 : isJsonObject(value) && isEmptyMap(value));

function isEmptyMap(object: JsonObject): boolean {
  for (const key in object) if (object[key] !== undefined) return false;
  return true;
}
