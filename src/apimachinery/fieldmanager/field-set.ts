// A set of field paths as a tree, the form that fieldsV1 has: `f:` names a field, `k:` a list element by its keys,
// `v:` an element by its value, `.` the node itself.

import { put } from '../../base/put.ts';
import type { Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { badRequest } from '../errors.ts';
import { isJsonObject } from '../patch/own-property.ts';

/** Never changed once made; parts are shared between sets. */
export interface FieldSet {
  /** This path is a member itself. */
  readonly self: boolean;
  readonly children: ReadonlyMap<string, FieldSet> | undefined;
}

export const emptySet: FieldSet = { self: false, children: undefined };
/** A path that is a member and has nothing below. */
export const leaf: FieldSet = { self: true, children: undefined };

export const isEmptySet = (set: FieldSet): boolean => !set.self && set.children === undefined;

/** Drops an empty map of children, so that emptiness is one comparison. */
export const node = (self: boolean, children: ReadonlyMap<string, FieldSet> | undefined): FieldSet =>
  children === undefined || children.size === 0 ? (self ? leaf : emptySet) : { self, children };

export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmptySet(b)) return a;
  if (isEmptySet(a)) return b;
  if (b.children === undefined) return a.self === b.self ? a : node(true, a.children);
  const children = new Map(a.children);
  for (const [key, child] of b.children) {
    const mine = children.get(key);
    children.set(key, mine === undefined ? child : union(mine, child));
  }
  return node(a.self || b.self, children);
}

/** The union of many: each member is looked at once, where one union after the other copies what has gathered. */
export function unionAll(sets: readonly FieldSet[]): FieldSet {
  if (sets.length <= 1) return sets[0] ?? emptySet;
  if (sets.length === 2) return union(sets[0]!, sets[1]!);
  let self = false;
  const groups = new Map<string, FieldSet[]>();
  for (const set of sets) {
    self ||= set.self;
    if (set.children === undefined) continue;
    for (const [key, child] of set.children) {
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [child]);
      else group.push(child);
    }
  }
  const children = new Map<string, FieldSet>();
  for (const [key, group] of groups) children.set(key, unionAll(group));
  return node(self, children);
}

/** Members of `a` that are not members of `b`; what lies below a member of `b` stays. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmptySet(b)) return a;
  return node(a.self && !b.self, differenceOfChildren(a, b, difference));
}

/** As difference, but a member of `b` takes everything below it along. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  if (b.self) return emptySet;
  if (isEmptySet(b)) return a;
  return node(a.self, differenceOfChildren(a, b, recursiveDifference));
}

function differenceOfChildren(
  a: FieldSet,
  b: FieldSet,
  minus: (a: FieldSet, b: FieldSet) => FieldSet,
): ReadonlyMap<string, FieldSet> | undefined {
  if (a.children === undefined || b.children === undefined) return a.children;
  const children = new Map<string, FieldSet>();
  for (const [key, child] of a.children) {
    const other = b.children.get(key);
    const rest = other === undefined ? child : minus(child, other);
    if (!isEmptySet(rest)) children.set(key, rest);
  }
  return children;
}

export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  let children: Map<string, FieldSet> | undefined;
  if (a.children !== undefined && b.children !== undefined)
    for (const [key, child] of a.children) {
      const other = b.children.get(key);
      if (other === undefined) continue;
      const both = intersection(child, other);
      if (isEmptySet(both)) continue;
      children ??= new Map();
      children.set(key, both);
    }
  return node(a.self && b.self, children);
}

export function setsEqual(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  if (a.self !== b.self || a.children?.size !== b.children?.size) return false;
  if (a.children === undefined) return true;
  for (const [key, child] of a.children) {
    const other = b.children?.get(key);
    if (other === undefined || !setsEqual(child, other)) return false;
  }
  return true;
}

/** In place of a name in a path: any element. */
const anyElement = '*';

/** A set with one member: the path of field names. */
function setOfPath(path: readonly string[]): FieldSet {
  let set = leaf;
  for (const name of path.toReversed())
    set = { self: false, children: new Map([[name === anyElement ? name : `f:${name}`, set]]) };
  return set;
}
export const setOfPaths = (paths: readonly (readonly string[])[]): FieldSet =>
  paths.map(setOfPath).reduce(union, emptySet);

/** Members of `set` on the way to one of `pattern`, or below one (upstream: FilterIncludeMatches). */
export function matchingOf(set: FieldSet, pattern: FieldSet): FieldSet {
  if (pattern.self || set.children === undefined) return set;
  const children = new Map<string, FieldSet>();
  for (const [key, child] of set.children) {
    const below = pattern.children?.get(key) ?? pattern.children?.get(anyElement);
    const rest = below === undefined ? emptySet : matchingOf(child, below);
    if (!isEmptySet(rest)) children.set(key, rest);
  }
  return node(set.self, children);
}

/** As it stands in `fieldsV1`, keys sorted. */
export function encodeFieldSet(set: FieldSet): JsonObject {
  const encoded: JsonObject = {};
  if (set.children === undefined) return encoded;
  if (set.self) encoded['.'] = {};
  for (const key of [...set.children.keys()].sort())
    put(encoded, key, encodeFieldSet(set.children.get(key)!));
  return encoded;
}

/** Of the fields of the object, and of theirs, each that is no leaf has a step of its own. */
const steppedLevels = 2;

/** The same in steps, for large objects. */
export function* encodeFieldSetSteps(set: FieldSet, levels: number = steppedLevels): Steps<JsonObject> {
  if (set.children === undefined) return encodeFieldSet(set);
  const encoded: JsonObject = set.self ? { '.': {} } : {};
  for (const key of [...set.children.keys()].sort()) {
    const child = set.children.get(key)!;
    put(encoded, key, levels === 1 ? encodeFieldSet(child) : yield* encodeFieldSetSteps(child, levels - 1));
    if (child.children !== undefined) yield;
  }
  return encoded;
}

const maxDepth = 200;

/** Throws StatusError 400 for what is no field set. */
export function* decodeFieldSetSteps(encoded: Json | undefined, depth = 0): Steps<FieldSet> {
  if (!isJsonObject(encoded)) throw notAnObject();
  const children = new Map<string, FieldSet>();
  for (const key in encoded) {
    if (key === '.') continue;
    assertElement(key);
    const isLast = depth + 1 === steppedLevels;
    const child = isLast
      ? decodeFieldSet(encoded[key], depth + 1)
      : yield* decodeFieldSetSteps(encoded[key], depth + 1);
    children.set(key, child);
    if (child.children !== undefined) yield;
  }
  return decoded(encoded, children, depth);
}

function decodeFieldSet(encoded: Json | undefined, depth: number): FieldSet {
  if (!isJsonObject(encoded)) throw notAnObject();
  if (depth > maxDepth) throw badRequest('FieldsV1 is nested too deeply');
  // Most are leaves.
  let children: Map<string, FieldSet> | undefined;
  for (const key in encoded) {
    if (key === '.') continue;
    assertElement(key);
    children ??= new Map();
    children.set(key, decodeFieldSet(encoded[key], depth + 1));
  }
  return decoded(encoded, children, depth);
}

/** `{}` below the root stands for a member without children. */
const decoded = (
  encoded: JsonObject,
  children: ReadonlyMap<string, FieldSet> | undefined,
  depth: number,
): FieldSet =>
  node(
    Object.hasOwn(encoded, '.') || (depth > 0 && (children === undefined || children.size === 0)),
    children,
  );

const notAnObject = (): Error => badRequest('FieldsV1 must be an object');

function assertElement(key: string): void {
  if (key[1] !== ':' || !'fkvi'.includes(key[0]!)) throw badRequest(`missing colon: ${JSON.stringify(key)}`);
}

/** Every member's path, as upstream prints it: `.spec.containers[name="a"].image`. */
export function pathsOf(set: FieldSet, prefix = ''): string[] {
  const paths = set.self ? [prefix] : [];
  for (const key of [...(set.children?.keys() ?? [])].sort())
    paths.push(...pathsOf(set.children!.get(key)!, prefix + pathElementText(key)));
  return paths;
}

export function pathElementText(key: string): string {
  const rest = key.slice(2);
  if (key.startsWith('f:')) return `.${rest}`;
  if (key.startsWith('v:')) return `[=${rest}]`;
  if (key.startsWith('i:')) return `[${rest}]`;
  const fields = Object.entries(keyFields(rest));
  return `[${fields.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(',')}]`;
}

/** Sets come from clients too: what is no JSON names nothing. */
function keyFields(text: string): JsonObject {
  try {
    const fields: unknown = JSON.parse(text);
    return isJsonObject(fields) ? fields : {};
  } catch {
    return {};
  }
}
