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
  if (!isJsonObject(item)) {
    const what = item === null ? 'a null element' : 'non-map elements';
    throw new TypedError(`${path}: element ${index}: associative list with keys may not have ${what}`);
  }
  let text = 'k:{';
  let first = true;
  for (const key of keys) {
    const value = own(item, key.name) ?? key.default;
    if (value === undefined || value === null) continue;
    if (typeof value === 'object')
      throw new TypedError(`${path}: element ${index}: key field "${key.name}" must be a scalar`);
    text += `${first ? '' : ','}${JSON.stringify(key.name)}:${JSON.stringify(value)}`;
    first = false;
  }
  // One that says some of them is another than those that say all.
  if (!first) return `${text}}`;
  const names = keys.map(({ name }) => JSON.stringify(name)).join(' ');
  throw new TypedError(
    `${path}: element ${index}: associative list with keys has an element that omits all key fields [${names}] (and doesn't have default values for any key fields)`,
  );
}

/** Of an applied set: throws for what is no scalar. */
export function scalarElement(item: Json | undefined, path: string, index: number): string {
  if (item !== null && typeof item !== 'object') return valueElement(item);
  const why =
    item === null
      ? "associative list without keys has an element that's an explicit null"
      : Array.isArray(item)
        ? 'not supported: associative list with lists as elements'
        : "associative list without keys has an element that's a map type";
  throw new TypedError(`${path}: element ${index}: ${why}`);
}

export const valueElement = (item: Json | undefined): string => `v:${JSON.stringify(item ?? null)}`;

/** Elements by name, in order. Fewer than the list has: it has a name twice, and here is the first of that name. */
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
