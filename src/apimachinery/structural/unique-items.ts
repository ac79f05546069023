// Elements of sets, and of maps in list form, are there once: in upstream's words.
import { duplicate, type FieldError, invalid } from '../field-error.ts';
import type { Json, JsonObject } from '../json.ts';
import { isObject } from '../json-access.ts';
import {
  itemsOf,
  listKeysOf,
  listTypeOf,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from './structural-schema.ts';

/** Schemas that hold such a list, themselves or within; asked for each object. */
const known = new WeakMap<StructuralSchema, boolean>();

function hasUniqueItems(schema: StructuralSchema): boolean {
  const before = known.get(schema);
  if (before !== undefined) return before;
  const listType = listTypeOf(schema);
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  const found =
    listType === 'set' ||
    listType === 'map' ||
    (items !== undefined && hasUniqueItems(items)) ||
    (isObject(values) && hasUniqueItems(values)) ||
    Object.keys(propertiesOf(schema)).some((name) => hasUniqueItems(propertyOf(schema, name) ?? {}));
  known.set(schema, found);
  return found;
}

export function repeatedItems(value: Json | undefined, schema: StructuralSchema, path = ''): FieldError[] {
  const errors: FieldError[] = [];
  visit(value, schema, path, errors);
  return errors;
}

function visit(value: Json | undefined, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  if (typeof value !== 'object' || value === null || !hasUniqueItems(schema)) return;
  if (Array.isArray(value)) {
    checkList(value, schema, path, errors);
    const items = itemsOf(schema);
    if (items) for (const [i, item] of value.entries()) visit(item, items, `${path}[${i}]`, errors);
    return;
  }
  const values = valuesOf(schema);
  for (const [name, member] of Object.entries(value)) {
    const property = propertyOf(schema, name);
    if (property) visit(member, property, path === '' ? name : `${path}.${name}`, errors);
    else if (isObject(values)) visit(member, values, `${path}[${name}]`, errors);
  }
}

function checkList(
  value: readonly Json[],
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
): void {
  const listType = listTypeOf(schema);
  const stranger = listType === 'map' ? value.findIndex((item) => item !== null && !isObject(item)) : -1;
  if (stranger >= 0) {
    const why = 'must be an object for an array of list-type map';
    errors.push(invalid(`${path}[${stranger}]`, value[stranger], why));
  } else if (listType === 'map') {
    const names = listKeysOf(schema);
    const keys = value.map((item) => keyOf(item, names));
    sayRepeated(keys, path, errors);
  } else if (listType === 'set') sayRepeated(value, path, errors);
}

function keyOf(item: Json, names: readonly string[]): JsonObject {
  const key: JsonObject = {};
  if (!isObject(item)) return key;
  for (const name of names) if (Object.hasOwn(item, name)) key[name] = item[name]!;
  return key;
}

/** The second of each; of more nothing is said. */
function sayRepeated(keys: readonly Json[], path: string, errors: FieldError[]): void {
  const seen = new Map<string, number>();
  keys.forEach((key, i) => {
    const text = JSON.stringify(key);
    const times = seen.get(text) ?? 0;
    seen.set(text, times + 1);
    if (times === 1) errors.push(duplicate(`${path}[${i}]`, key));
  });
}
