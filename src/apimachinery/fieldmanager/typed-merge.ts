// Lays an applied object over the live one, and takes out what nobody applies any more.

import { put } from '../../base/put.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import type { FieldSet } from './field-set.ts';
import { elementsOf, isEmptyContainer } from './path-element.ts';
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

/** The elements by name; of a name that comes twice none. */
function single(elements: readonly (readonly [string, Json])[]): Map<string, Json | undefined> {
  const found = new Map<string, Json | undefined>();
  for (const [name, item] of elements) found.set(name, found.has(name) ? undefined : item);
  return found;
}

/**
 * The applied order holds; what only the live list has stays where it is between those that both have. What is live
 * twice, and applied, is there once.
 */
function mergeLists(schema: ListSchema, live: readonly Json[], applied: readonly Json[]): Json[] {
  const named = (item: Json, index: number): [string, Json] => [elementName(schema, item, index), item];
  const before = live.map(named);
  const wanted = [...elementsOf(applied, (item, index) => elementName(schema, item, index))];
  const liveItems = single(before);
  const isWanted = new Set(wanted.map(([name]) => name));
  const shared = wanted.map(([name]) => name).filter((name) => liveItems.has(name));
  const items = schema.kind === 'list' ? schema.items() : undefined;
  const done = new Set<string>();
  const result: Json[] = [];
  let [l, next] = [0, 0];
  for (const [name, item] of wanted) {
    let isNext = false;
    for (; l < before.length; l++) {
      const [ofLive, own] = before[l]!;
      isNext = ofLive === name;
      if (isNext) break;
      if (!isWanted.has(ofLive)) result.push(own);
      else if (next === shared.length || ofLive === shared[next]) {
        if (done.has(ofLive)) l++;
        break;
      }
    }
    const current = liveItems.get(name);
    result.push(items === undefined || current === undefined ? item : merge(items, current, item));
    done.add(name);
    if (shared[next] === name) next++;
    if (isNext) l++;
  }
  for (; l < before.length; l++) if (!isWanted.has(before[l]![0])) result.push(before[l]![1]);
  return result;
}

/**
 * Without the fields that were applied last time (`last`) and that no manager has now (`owned`). A field that goes
 * takes along what is below it; a field that the schema names counts as applied or owned when something below it is.
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
  return result ?? value;
}
