// Strategic merge patch: lists of objects merge by key, with the directives $patch, $retainKeys,
// $deleteFromPrimitiveList and $setElementOrder. Follows upstream's strategicpatch step by step.

import { put } from '../../base/put.ts';
import type { Json, JsonObject, SchemaSource } from '../declaration.ts';
import { badRequest } from '../errors.ts';
import { goValue } from '../go-format.ts';
import { assertFollows, inOrder, textOf } from './element-order.ts';
import { isJsonObject, own } from './own-property.ts';
import { assertShallow, InapplicablePatchError, unclassified } from './patch-error.ts';
import type { PatchMeta, PatchSchema } from './patch-schema.ts';
import { patchMetaOf, patchSchemaOf } from './patch-schema.ts';

const directive = '$patch';
const retainKeys = '$retainKeys';
const deletePrefix = '$deleteFromPrimitiveList/';
const orderPrefix = '$setElementOrder/';

/** The patched object; `live` is not changed. `type` is the full name of its type. Throws StatusError. */
export function applyStrategicMergePatch(
  live: JsonObject,
  patch: Json,
  source: SchemaSource,
  type: string,
): JsonObject {
  // As Go reads null into a map: nothing is to be changed.
  if (patch === null) return { ...live };
  if (!isJsonObject(patch))
    throw badRequest(
      `json: cannot unmarshal ${Array.isArray(patch) ? 'array' : typeof patch} into Go value of type map[string]interface {}`,
    );
  assertShallow(patch);
  return mergeMap(live, patch, patchSchemaOf(source, type));
}

function mergeMap(original: JsonObject, patch: JsonObject, schema: PatchSchema): JsonObject {
  if (Object.hasOwn(patch, directive)) return replaceOrDelete(patch);
  const result: JsonObject = { ...original };
  const rest = new Map(Object.entries(patch));
  retainOnly(result, rest);
  for (const [key, order] of rest)
    if (key.startsWith(orderPrefix)) setOrder(result, rest, key, order, schema);
  for (const [key, value] of rest) {
    if (key.startsWith(deletePrefix)) deleteFrom(result, key.slice(deletePrefix.length), value);
    else mergeMember(result, key, value, schema);
  }
  return result;
}

/** `$patch: replace` takes the rest of the patch as it is, `$patch: delete` leaves nothing. */
function replaceOrDelete(patch: JsonObject): JsonObject {
  const { [directive]: kind, ...rest } = patch;
  if (kind === 'replace') return rest;
  if (kind === 'delete') return {};
  throw unclassified(`unknown patch type: ${String(kind)} in map: ${goValue(patch)}`);
}

function mergeMember(result: JsonObject, key: string, value: Json | undefined, schema: PatchSchema): void {
  if (value === null || value === undefined) {
    delete result[key];
    return;
  }
  const current = own(result, key);
  if (isJsonObject(current) && isJsonObject(value)) {
    const meta = patchMetaOf(schema, key);
    put(result, key, meta.strategy === 'replace' ? value : mergeMap(current, value, meta.schema));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    put(result, key, mergeList(current, value, patchMetaOf(schema, key)));
  } else {
    put(result, key, taken(value));
  }
}

function mergeList(original: readonly Json[], patch: readonly Json[], meta: PatchMeta): Json[] {
  if (meta.strategy !== 'merge') return [...patch];
  if (original.length === 0 && patch.length === 0) return [];
  if (!ofMaps([...original, ...patch])) {
    return inOrder([...new Set([...original, ...patch])], patch, original, '');
  }
  const { mergeKey, schema } = meta;
  if (mergeKey === '') throw unclassified(`cannot merge lists without merge key for ${schema.name}`);
  const { base, additions } = specialElements(original as JsonObject[], patch as JsonObject[], mergeKey);
  const merged: JsonObject[] = [...base];
  const positions = new Map<string, number>();
  if (additions.length > 0)
    base.forEach((item, i) => {
      const text = textOf(keyOf(item, mergeKey));
      if (!positions.has(text)) positions.set(text, i);
    });
  for (const item of additions) {
    const text = textOf(keyOf(item, mergeKey));
    const at = positions.get(text);
    if (at !== undefined) merged[at] = mergeMap(merged[at]!, item, schema);
    else {
      positions.set(text, merged.length);
      merged.push(taken(item) as JsonObject);
    }
  }
  return inOrder(merged, additions, base, mergeKey);
}

/** Elements with `$patch`: delete removes the match, replace drops everything that was there. */
function specialElements(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { base: JsonObject[]; additions: JsonObject[] } {
  const deleted = new Set<string>();
  const additions: JsonObject[] = [];
  let replace = false;
  for (const item of patch) {
    const kind = own(item, directive);
    if (kind === undefined) additions.push(item);
    else if (kind === 'delete') deleted.add(textOf(keyOf(item, mergeKey)));
    else if (kind === 'replace') replace = true;
    else if (kind === 'merge') throw unclassified('merging lists cannot yet be specified in the patch');
    else throw unclassified(`unknown patch type: ${String(kind)} in map: ${goValue(item)}`);
  }
  if (replace) return { base: additions, additions: [] };
  if (deleted.size === 0) return { base: [...original], additions };
  return { base: original.filter((item) => !deleted.has(textOf(keyOf(item, mergeKey)))), additions };
}

function keyOf(item: JsonObject, mergeKey: string): Json {
  const value = own(item, mergeKey);
  if (value === undefined)
    throw unclassified(`map: ${goValue(item)} does not contain declared merge key: ${mergeKey}`);
  return value;
}

function ofMaps(items: readonly Json[]): boolean {
  if (items.some(Array.isArray)) throw new InapplicablePatchError();
  const maps = items.filter(isJsonObject).length;
  if (maps !== 0 && maps !== items.length) throw unclassified('list element types are not identical');
  return maps > 0;
}

/** Of a `$retainKeys` map only the named members of the original stay. */
function retainOnly(result: JsonObject, patch: Map<string, Json | undefined>): void {
  const keys = patch.get(retainKeys);
  if (!patch.delete(retainKeys)) return;
  const bad = badRequest('invalid patch format of retainKeys');
  if (!Array.isArray(keys)) throw bad;
  const kept = new Set(keys);
  for (const [key, value] of patch) {
    if (value === null || key.startsWith(deletePrefix) || key.startsWith(orderPrefix)) continue;
    if (!kept.has(key)) throw bad;
  }
  for (const key of Object.keys(result)) if (!kept.has(key)) delete result[key];
}

function deleteFrom(result: JsonObject, key: string, items: Json | undefined): void {
  const current = own(result, key);
  if (!Array.isArray(items)) throw badRequest('invalid patch format of primitive list');
  if (!Array.isArray(current)) return;
  const unwanted = new Set(items);
  put(
    result,
    key,
    current.filter((item) => !unwanted.has(item)),
  );
}

/** Merges the list that a `$setElementOrder` names and puts it in that order. */
function setOrder(
  result: JsonObject,
  patch: Map<string, Json | undefined>,
  directiveKey: string,
  order: Json | undefined,
  schema: PatchSchema,
): void {
  patch.delete(directiveKey);
  const key = directiveKey.slice(orderPrefix.length);
  const [current, change] = [own(result, key), patch.get(key)];
  const malformed = (value: Json | undefined): boolean => value !== undefined && !Array.isArray(value);
  if (!Array.isArray(order) || malformed(current) || malformed(change))
    throw badRequest('invalid patch format of setElementOrder list');
  const before = (current ?? []) as Json[];
  const meta = patchMetaOf(schema, key);
  assertFollows((change ?? []) as Json[], order, meta.mergeKey);
  if (current === undefined && change === undefined) return;
  const merged =
    change === undefined
      ? before
      : current === undefined
        ? (taken(change) as Json[])
        : mergeList(before, change as Json[], meta);
  const serverOrder = afterDeletions(before, (change ?? []) as Json[], merged, meta.mergeKey);
  put(result, key, inOrder(merged, order, serverOrder, meta.mergeKey));
  patch.delete(key);
}

/**
 * What upstream takes the server's order from once elements were deleted: it deletes and appends in the list itself, so that
 * as many new elements as there were deleted ones count as elements of the server.
 */
function afterDeletions(
  before: readonly Json[],
  change: readonly Json[],
  merged: readonly Json[],
  mergeKey: string,
): readonly Json[] {
  if (!change.some((item) => isJsonObject(item) && own(item, directive) === 'delete')) return before;
  const names = (items: readonly Json[]): Set<string> =>
    new Set(items.filter(isJsonObject).map((item) => textOf(own(item, mergeKey))));
  const [old, left] = [names(before), names(merged)];
  const nameOf = (item: Json): string => (isJsonObject(item) ? textOf(own(item, mergeKey)) : '');
  const kept = before.filter((item) => left.has(nameOf(item)));
  const added = change.filter((item) => left.has(nameOf(item)) && !old.has(nameOf(item)));
  return [...kept, ...added].slice(0, before.length);
}

/** A value that is new to the object: its nulls and directives mean nothing there. */
function taken(value: Json): Json {
  if (Array.isArray(value))
    return value.filter((item) => !(isJsonObject(item) && Object.hasOwn(item, directive))).map(taken);
  if (!isJsonObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member === null || member === undefined || isDirective(key)) continue;
    put(result, key, taken(member));
  }
  return result;
}

const isDirective = (key: string): boolean =>
  key === directive || key === retainKeys || key.startsWith(deletePrefix) || key.startsWith(orderPrefix);
