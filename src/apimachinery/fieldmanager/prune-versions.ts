// What an applier leaves out that it applied in another version, or that others own in theirs.

import { put } from '../../base/put.ts';
import type { Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject } from '../patch/own-property.ts';
import {
  difference,
  emptySet,
  type FieldSet,
  intersection,
  leaf,
  node,
  union,
  unionAll,
} from './field-set.ts';
import type { Manager } from './managed-fields.ts';
import { elementName } from './typed-compare.ts';
import { childOf, type TypedSchema } from './typed-schema.ts';
import { inVersion, schemaIn, type VersionsOfObject } from './versioned-object.ts';

/**
 * As pruneOwned, where versions differ: what was applied goes in the version that it was applied in, comes back where a
 * manager of any version has it, and stays away only if it was applied.
 */
export function* pruneAcross(
  versions: VersionsOfObject,
  merged: JsonObject,
  last: Manager,
  managers: readonly Manager[],
): Steps<JsonObject> {
  const schema = schemaIn(versions, last.apiVersion);
  const whole = yield* inVersion(versions, merged, last.apiVersion);
  const applied = named(schema, last.set);
  let pruned = withoutMembers(schema, whole, applied) as JsonObject;
  let full = whole;
  // Its own version first: what is taken away may be what a conversion needs.
  for (const apiVersion of new Set([last.apiVersion, ...managers.map((one) => one.apiVersion)])) {
    const ofVersion = managers.filter((one) => one.apiVersion === apiVersion);
    if (ofVersion.length === 0) continue;
    const own = schemaIn(versions, apiVersion);
    full = yield* inVersion(versions, full, apiVersion);
    pruned = yield* inVersion(versions, pruned, apiVersion);
    const owned = named(own, unionAll(ofVersion.map(({ set }) => set)));
    const gone = difference(membersOf(own, full), union(membersOf(own, pruned), owned));
    pruned = withoutMembers(own, full, gone) as JsonObject;
    yield;
  }
  const left = membersOf(schema, yield* inVersion(versions, pruned, last.apiVersion));
  const gone = intersection(difference(membersOf(schema, whole), left), applied);
  return yield* inVersion(versions, withoutMembers(schema, whole, gone) as JsonObject, versions.apiVersion);
}

/** A field that the schema names is a member when something below it is. */
function named(schema: TypedSchema, set: FieldSet): FieldSet {
  if (set.children === undefined) return set;
  const children = new Map<string, FieldSet>();
  for (const [element, child] of set.children) {
    const below = named(schemaOf(schema, element), child);
    const isNamed = schema.kind === 'struct' && schema.fields.has(element.slice(2));
    children.set(element, node(below.self || isNamed, below.children));
  }
  return node(set.self, children);
}

const schemaOf = (schema: TypedSchema, element: string): TypedSchema =>
  schema.kind === 'list' ? schema.items() : childOf(schema, element.slice(2));

/** Every field and element of the value. */
function membersOf(schema: TypedSchema, value: Json | undefined): FieldSet {
  const children = new Map<string, FieldSet>();
  const add = (element: string, below: FieldSet): void =>
    void children.set(element, node(true, children.has(element) ? undefined : below.children));
  if (schema.kind === 'leaf' || value === undefined) return leaf;
  if (schema.kind === 'set' || schema.kind === 'list') {
    const items: TypedSchema = schema.kind === 'list' ? schema.items() : { kind: 'leaf', scalar: true };
    for (const [index, item] of (Array.isArray(value) ? value : []).entries())
      add(elementName(schema, item, index), membersOf(items, item));
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value))
      if (value[key] !== undefined) add(`f:${key}`, membersOf(childOf(schema, key), value[key]));
  }
  return children.size === 0 ? emptySet : node(false, children);
}

/** A member that goes takes along what is below it. */
function withoutMembers(schema: TypedSchema, value: Json, gone: FieldSet): Json {
  if (gone.children === undefined || schema.kind === 'leaf') return value;
  if (Array.isArray(value)) {
    if (schema.kind !== 'set' && schema.kind !== 'list') return value;
    return value.flatMap((item, index) => {
      const mine = gone.children!.get(elementName(schema, item, index));
      if (mine?.self) return [];
      return [
        mine === undefined || schema.kind === 'set' ? item : withoutMembers(schema.items(), item, mine),
      ];
    });
  }
  if (!isJsonObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const mine = gone.children.get(`f:${key}`);
    const member = value[key];
    if (member === undefined || mine?.self) continue;
    put(result, key, mine === undefined ? member : withoutMembers(childOf(schema, key), member, mine));
  }
  return result;
}
