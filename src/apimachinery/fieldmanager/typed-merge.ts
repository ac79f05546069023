// Lays an applied object over the live one, and takes out what nobody applies any more.

import { put } from '../../base/put.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import type { FieldSet } from './field-set.ts';
import { isEmptyContainer } from './path-element.ts';
import { elementName } from './typed-compare.ts';
import { childOf, type TypedSchema } from './typed-schema.ts';

/** Neither argument is changed; the result shares their parts. */
export function merge(schema: TypedSchema, live: Json | undefined, applied: Json): Json {
  if (schema.kind === 'leaf' || live === undefined || live === null) return applied;
  if (schema.kind === 'set' || schema.kind === 'list') {
    if (!Array.isArray(live)) return applied;
    // Nothing at all takes nothing away.
    if (applied === null) return live.length === 0 ? applied : live;
    return Array.isArray(applied) ? mergeLists(schema, live, applied) : applied;
  }
  if (!isJsonObject(live)) return applied;
  if (applied === null) return isEmptyContainer(live) ? applied : live;
  if (!isJsonObject(applied)) return applied;
  const result: JsonObject = { ...live };
  for (const key of Object.keys(applied)) {
    const value = applied[key];
    if (value !== undefined) put(result, key, merge(childOf(schema, key), own(live, key), value));
  }
  return result;
}

type ListSchema = Extract<TypedSchema, { kind: 'set' | 'list' }>;

/**
 * The applied order holds; what only the live list has stays where it is between those that both have. What is live
 * twice, and applied, is there once.
 */
function mergeLists(schema: ListSchema, live: readonly Json[], applied: readonly Json[]): Json[] {
  const names = live.map((item, index) => elementName(schema, item, index));
  const wanted = applied.map((item, index) => elementName(schema, item, index));
  const places = new Map(wanted.map((name, place) => [name, place] as const));
  /** Of a name that comes twice none. */
  const liveItems = new Map<string, Json | undefined>();
  for (const [i, name] of names.entries()) liveItems.set(name, liveItems.has(name) ? undefined : live[i]);
  const items = schema.kind === 'list' ? schema.items() : undefined;
  const result: Json[] = [];
  /** In the applied list: of those that both have, the first that is not there yet. */
  let next = 0;
  let l = 0;
  for (const [place, name] of wanted.entries()) {
    while (next < wanted.length && (next < place || !liveItems.has(wanted[next]!))) next++;
    for (; l < names.length && names[l] !== name; l++) {
      const own = places.get(names[l]!);
      if (own === undefined) result.push(live[l]!);
      else if (next === wanted.length || own === next) {
        if (own < place) l++;
        break;
      }
    }
    const current = liveItems.get(name);
    const item = applied[place]!;
    result.push(items === undefined || current === undefined ? item : merge(items, current, item));
    if (names[l] === name) l++;
  }
  for (; l < names.length; l++) if (!places.has(names[l]!)) result.push(live[l]!);
  return result;
}

/**
 * Without the fields that were applied last time (`last`) and that no manager has now (`owned`). A field that goes
 * takes along what is below it; a field that the schema names counts as applied or owned when something below it is.
 * A map or list that has lost all that was in it, and stays, is null.
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
    if (result.length === value.length && result.every((item, i) => item === value[i])) return value;
    return result.length === 0 ? null : result;
  }
  if (!isJsonObject(value)) return value;
  let result: JsonObject | undefined;
  for (const [name, mine] of last.children) {
    const key = name.slice(2);
    const current = own(value, key);
    if (!name.startsWith('f:') || current === undefined) continue;
    const others = owned?.children?.get(name);
    const isNamed = schema.kind === 'struct' && schema.fields.has(key);
    if (isNamed ? others === undefined : mine.self && others?.self !== true) {
      result ??= { ...value };
      delete result[key];
      continue;
    }
    const pruned = pruneOwned(childOf(schema, key), current, mine, others);
    if (pruned === current) continue;
    result ??= { ...value };
    put(result, key, pruned);
  }
  if (result === undefined) return value;
  return isEmptyContainer(result) ? null : result;
}
