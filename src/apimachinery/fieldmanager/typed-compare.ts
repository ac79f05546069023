// What changed between two states of an object, as sets of fields: upstream's Compare.
import type { Steps } from '../../base/turns.ts';
import { identicalJson } from '../equality.ts';
import { isZeroScalar, type Json } from '../json.ts';
import { isJsonObject } from '../patch/own-property.ts';
import type { FieldSet } from './field-set.ts';
import { emptySet, isEmptySet, leaf, node, union } from './field-set.ts';
import { elementsOf, isEmptyContainer, keyElement, valueElement } from './path-element.ts';
import type { TypedField, TypedSchema } from './typed-schema.ts';
import { deduced } from './typed-schema.ts';

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

const nothing: Comparison = { added: emptySet, modified: emptySet, removed: emptySet };
const changed: Comparison = { added: emptySet, modified: leaf, removed: emptySet };

/** Added and modified fields alike: what the writer owns from now on. */
export const written = (comparison: Comparison): FieldSet => union(comparison.added, comparison.modified);

/** `zero` where Go compares with an object that was never written: structs by value are there, and empty. */
export function compare(
  schema: TypedSchema,
  left: Json | undefined,
  right: Json | undefined,
  zero = false,
): Comparison {
  if (left === right) return nothing;
  if (left === undefined) {
    if (!zero) return { added: everyField(schema, right), modified: emptySet, removed: emptySet };
    if (schema.kind === 'leaf' && isZero(right)) return nothing;
  }
  if (right === undefined) return { added: emptySet, modified: emptySet, removed: everyField(schema, left) };
  if (schema.kind === 'leaf') return identicalJson(left, right) ? nothing : changed;
  const isMap = schema.kind !== 'set' && schema.kind !== 'list';
  // To ask a map of thousands whether it is empty costs as much as walking through it.
  if (isMap && isJsonObject(left) && isJsonObject(right)) return compareMaps(schema, left, right);
  const [emptyLeft, emptyRight] = [left === undefined || isEmptyContainer(left), isEmptyContainer(right)];
  if (emptyLeft && emptyRight) return left === undefined || identicalJson(left, right) ? nothing : changed;
  if (!isMap) {
    if (!(emptyLeft || Array.isArray(left)) || !(emptyRight || Array.isArray(right))) return changed;
    return compareLists(schema, listOf(left), listOf(right));
  }
  if (!(emptyLeft || isJsonObject(left)) || !(emptyRight || isJsonObject(right)))
    return identicalJson(left, right) ? nothing : otherForm(left, right);
  return compareMaps(schema, left, right);
}

/** One of them is a map that says something: what was in it is gone with it, or what is in it is new. */
function otherForm(left: Json | undefined, right: Json | undefined): Comparison {
  const inside = (value: Json | undefined): FieldSet =>
    isJsonObject(value) ? node(false, everyField(deduced, value).children) : emptySet;
  return { added: inside(right), modified: leaf, removed: inside(left) };
}

/** Fields of the object, and of its fields, are steps of their own. */
const steppedLevels = 2;

/** `compare` in steps, for large objects. */
export function* compareSteps(
  schema: TypedSchema,
  left: Json | undefined,
  right: Json | undefined,
  zero = false,
  levels: number = steppedLevels,
): Steps<Comparison> {
  const isWalked =
    schema.kind === 'struct' && isJsonObject(right) && (isJsonObject(left) || (zero && left === undefined));
  if (levels === 0 || !isWalked || left === right) return compare(schema, left, right, zero);
  const collected = new Collector();
  const members: Parameters<Visit>[] = [];
  visitMembers(schema, left, right, (...member) => members.push(member));
  for (const [name, of, was, now, isZeroed] of members) {
    collected.add(name, yield* compareSteps(of, was, now, isZeroed, levels - 1));
    yield;
  }
  return collected.result();
}

const emptyObject: Json = Object.freeze({});
const listOf = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? value : []);
export const isZero = (value: Json | undefined): boolean => isZeroScalar(value) || isEmptyContainer(value);

export type MapSchema = Extract<TypedSchema, { kind: 'struct' | 'map' | 'deduced' }>;

function compareMaps(schema: MapSchema, left: Json | undefined, right: Json | undefined): Comparison {
  const collected = new Collector();
  visitMembers(schema, left, right, (name, of, was, now, zero) => {
    collected.add(name, compare(of, was, now, zero));
  });
  return collected.result();
}

type Visit = (
  name: string,
  schema: TypedSchema,
  was: Json | undefined,
  now: Json | undefined,
  zero: boolean,
) => void;

/** The members that may have changed. */
function visitMembers(
  schema: MapSchema,
  left: Json | undefined,
  right: Json | undefined,
  visit: Visit,
): void {
  const before = isJsonObject(left) ? left : {};
  const after = isJsonObject(right) ? right : {};
  for (const key in after) {
    const now = after[key];
    const was = Object.hasOwn(before, key) ? before[key] : undefined;
    if (now === was) continue;
    const field = schema.kind === 'struct' ? schema.fields.get(key) : undefined;
    // Upstream compares what Go writes, and Go writes such fields always.
    const alwaysThere = was === undefined && field !== undefined && field.inZeroObject !== 'no';
    visit(`f:${key}`, childSchema(schema, field), was, now, alwaysThere);
  }
  for (const key in before) {
    if (before[key] === undefined || (Object.hasOwn(after, key) && after[key] !== undefined)) continue;
    const field = schema.kind === 'struct' ? schema.fields.get(key) : undefined;
    const now = field?.inZeroObject === 'struct' ? emptyObject : undefined;
    visit(`f:${key}`, childSchema(schema, field), before[key], now, false);
  }
}

export const childSchema = (schema: MapSchema, field: TypedField | undefined): TypedSchema =>
  field?.schema() ?? (schema.kind === 'map' ? schema.values() : deduced);

function compareLists(
  schema: Extract<TypedSchema, { kind: 'set' | 'list' }>,
  left: readonly Json[],
  right: readonly Json[],
): Comparison {
  const nameOf = (item: Json, index: number): string => elementName(schema, item, index);
  const before = elementsOf(left, nameOf);
  const after = elementsOf(right, nameOf);
  const items: TypedSchema = schema.kind === 'list' ? schema.items() : { kind: 'leaf', scalar: true };
  if (before.size < left.length || after.size < right.length)
    return compareRepeated(items, groupsOf(left, nameOf), groupsOf(right, nameOf));
  const collected = new Collector();
  for (const [name, item] of after) collected.add(name, compare(items, before.get(name), item));
  for (const [name, item] of before)
    if (!after.has(name)) collected.add(name, compare(items, item, undefined));
  return collected.result();
}

type Groups = ReadonlyMap<string, readonly Json[]>;

function groupsOf(list: readonly Json[], nameOf: (item: Json, index: number) => string): Groups {
  const groups = new Map<string, Json[]>();
  for (const [index, item] of list.entries()) {
    const name = nameOf(item, index);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [item]);
    else group.push(item);
  }
  return groups;
}

/** Elements of one name are one value together: nobody can say which of them has a field. */
function compareRepeated(items: TypedSchema, before: Groups, after: Groups): Comparison {
  const collected = new Collector();
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [was, now] = [before.get(name) ?? [], after.get(name) ?? []];
    if (was.length <= 1 && now.length <= 1) collected.add(name, compare(items, was[0], now[0]));
    else if (was.length > 1 && now.length > 1)
      collected.add(name, identicalJson([...was], [...now]) ? nothing : changed);
    else if (was.length > 1)
      collected.add(name, {
        ...nothing,
        added: now.length === 0 ? emptySet : everyField(items, now[0]),
        removed: leaf,
      });
    else
      collected.add(name, {
        ...nothing,
        added: leaf,
        removed: was.length === 0 ? emptySet : everyField(items, was[0]),
      });
  }
  return collected.result();
}

/** Stored lists may hold what cannot be named; then the place names it. */
export function elementName(
  schema: Extract<TypedSchema, { kind: 'set' | 'list' }>,
  item: Json,
  index: number,
): string {
  if (schema.kind === 'set') return valueElement(item);
  try {
    return keyElement(item, schema.keys, '', index);
  } catch {
    return `i:${index}`;
  }
}

/** The value with all containers in it. */
function everyField(schema: TypedSchema, value: Json | undefined): FieldSet {
  if (schema.kind === 'leaf' || value === undefined) return leaf;
  const children = new Map<string, FieldSet>();
  if (schema.kind === 'set' || schema.kind === 'list') {
    if (!Array.isArray(value)) return leaf;
    const items = schema.kind === 'list' ? schema.items() : undefined;
    value.forEach((item, index) => {
      const name = elementName(schema, item, index);
      const isOne = items !== undefined && !children.has(name);
      children.set(name, isOne ? everyField(items, item) : leaf);
    });
  } else {
    if (!isJsonObject(value)) return leaf;
    for (const key in value) {
      if (value[key] === undefined) continue;
      const field = schema.kind === 'struct' ? schema.fields.get(key) : undefined;
      children.set(`f:${key}`, everyField(childSchema(schema, field), value[key]));
    }
  }
  return node(true, children);
}

function including(
  sets: Map<string, FieldSet> | undefined,
  name: string,
  set: FieldSet,
): Map<string, FieldSet> {
  const map = sets ?? new Map<string, FieldSet>();
  return map.set(name, set);
}

class Collector {
  #added: Map<string, FieldSet> | undefined;
  #modified: Map<string, FieldSet> | undefined;
  #removed: Map<string, FieldSet> | undefined;

  add(name: string, { added, modified, removed }: Comparison): void {
    if (!isEmptySet(added)) this.#added = including(this.#added, name, added);
    if (!isEmptySet(modified)) this.#modified = including(this.#modified, name, modified);
    if (!isEmptySet(removed)) this.#removed = including(this.#removed, name, removed);
  }

  result(): Comparison {
    if (this.#added === undefined && this.#modified === undefined && this.#removed === undefined)
      return nothing;
    return {
      added: node(false, this.#added),
      modified: node(false, this.#modified),
      removed: node(false, this.#removed),
    };
  }
}
