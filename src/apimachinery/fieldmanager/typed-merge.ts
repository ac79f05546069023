// Lays an applied object over the live one, and takes out what nobody applies any more.

import { put } from '../../base/put.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import type { FieldSet } from './field-set.ts';
import { elementsOf } from './path-element.ts';
import { elementName } from './typed-compare.ts';
import type { TypedSchema } from './typed-schema.ts';
import { deduced } from './typed-schema.ts';

/** Neither argument is changed; the result shares their parts. */
export function merge(schema: TypedSchema, live: Json | undefined, applied: Json): Json {
  if (schema.kind === 'leaf' || live === undefined || live === null || applied === null) return applied;
  if (schema.kind === 'set' || schema.kind === 'list')
    return Array.isArray(live) && Array.isArray(applied) ? mergeLists(schema, live, applied) : applied;
  if (!isJsonObject(live) || !isJsonObject(applied)) return applied;
  const result: JsonObject = { ...live };
  for (const key of Object.keys(applied)) {
    const value = applied[key];
    if (value !== undefined) put(result, key, merge(childOf(schema, key), own(live, key), value));
  }
  return result;
}

function childOf(schema: TypedSchema, key: string): TypedSchema {
  if (schema.kind === 'struct') return schema.fields.get(key)?.schema() ?? deduced;
  return schema.kind === 'map' ? schema.values() : deduced;
}

/** The applied order holds; what only the live list has keeps its place before its next neighbour. */
function mergeLists(
  schema: Extract<TypedSchema, { kind: 'set' | 'list' }>,
  live: readonly Json[],
  applied: readonly Json[],
): Json[] {
  const nameOf = (item: Json, index: number): string => elementName(schema, item, index);
  const before = [...elementsOf(live, nameOf)];
  const liveItems = new Map(before);
  const wanted = elementsOf(applied, nameOf);
  const items = schema.kind === 'list' ? schema.items() : undefined;
  const result: Json[] = [];
  const done = new Set<string>();
  let at = 0;
  const takeLiveOnly = (): void => {
    for (; at < before.length; at++) {
      const [name, item] = before[at]!;
      if (wanted.has(name)) {
        if (!done.has(name)) return;
      } else result.push(item);
    }
  };
  for (const [name, item] of wanted) {
    takeLiveOnly();
    const current = liveItems.get(name);
    result.push(items === undefined || current === undefined ? item : merge(items, current, item));
    done.add(name);
  }
  takeLiveOnly();
  return result;
}

/**
 * Without the fields that were applied last time (`last`) and that no manager has now (`owned`). A field that goes
 * takes along what is below it; a struct field counts as applied or owned when something below it is.
 */
export function pruneOwned(
  schema: TypedSchema,
  value: Json,
  last: FieldSet,
  owned: FieldSet | undefined,
): Json {
  if (last.children === undefined || schema.kind === 'leaf') return value;
  if (Array.isArray(value)) {
    if (schema.kind !== 'set' && schema.kind !== 'list') return value;
    const items = schema.kind === 'list' ? schema.items() : undefined;
    const result: Json[] = [];
    value.forEach((item, index) => {
      const name = elementName(schema, item, index);
      const mine = last.children!.get(name);
      const others = owned?.children?.get(name);
      if (mine?.self && !others?.self) return;
      result.push(mine === undefined || items === undefined ? item : pruneOwned(items, item, mine, others));
    });
    return result.length === value.length && result.every((item, i) => item === value[i]) ? value : result;
  }
  if (!isJsonObject(value)) return value;
  let result: JsonObject | undefined;
  for (const [name, mine] of last.children) {
    const key = name.slice(2);
    const current = own(value, key);
    if (!name.startsWith('f:') || current === undefined) continue;
    const others = owned?.children?.get(name);
    if (others === undefined) {
      result ??= { ...value };
      delete result[key];
      continue;
    }
    const pruned = pruneOwned(childOf(schema, key), current, mine, others);
    if (pruned === current) continue;
    result ??= { ...value };
    put(result, key, pruned);
  }
  return result ?? value;
}
