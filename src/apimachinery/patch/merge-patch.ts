// JSON merge patch (RFC 7386): null removes, objects merge, all else replaces.

import { put } from '../../base/put.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { badRequest } from '../errors.ts';
import { isJsonObject, own } from './own-property.ts';
import { assertShallow } from './patch-error.ts';

/** The patched object; `live` is not changed but shares what the patch does not touch. Throws StatusError. */
export function applyMergePatch(live: JsonObject, patch: Json): JsonObject {
  if (!isJsonObject(patch)) throw badRequest('Invalid JSON Patch');
  assertShallow(patch);
  return merge(live, patch);
}

function merge(target: JsonObject, patch: JsonObject): JsonObject {
  const result: JsonObject = { ...target };
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    const current = own(result, key);
    if (value === null || value === undefined) delete result[key];
    else if (isJsonObject(value) && isJsonObject(current)) put(result, key, merge(current, value));
    else put(result, key, withoutNulls(value));
  }
  return result;
}

/** What a patch adds has no nulls in its objects; in lists they stay. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  const result: JsonObject = {};
  for (const key of Object.keys(value)) {
    const member = value[key];
    if (member !== null && member !== undefined) put(result, key, withoutNulls(member));
  }
  return result;
}
