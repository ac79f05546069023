// Drops what a structural schema does not name, and tells what that was.

import { shownPath } from '../../base/shown-path.ts';
import type { Json, JsonObject } from '../json.ts';
import { isObject } from '../json-access.ts';
import {
  isEmbedded,
  itemsOf,
  preserves,
  propertiesOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from './structural-schema.ts';

const maxUnknown = 100;
const ofEveryObject: readonly string[] = ['apiVersion', 'kind', 'metadata'];

/** In place. Fields of the root and of embedded objects that every object has stay. Returns the paths of what went. */
export function prune(object: JsonObject, schema: StructuralSchema): string[] {
  const unknown: string[] = [];
  pruneObject(object, schema, '', true, unknown);
  return unknown;
}

/** A copy of a default without what its schema does not name. */
export function prunedDefault(value: Json, schema: StructuralSchema): Json {
  const copy = structuredClone(value);
  pruneValue(copy, schema, '', []);
  return copy;
}

function pruneObject(
  object: JsonObject,
  schema: StructuralSchema,
  path: string,
  root: boolean,
  unknown: string[],
): void {
  const values = valuesOf(schema);
  for (const key of Object.keys(object)) {
    if ((root || isEmbedded(schema)) && ofEveryObject.includes(key)) continue;
    const at = path === '' ? key : `${path}.${key}`;
    const property = propertyOf(schema, key);
    if (property) pruneValue(object[key], property, at, unknown);
    else if (values === undefined) {
      if (preserves(schema)) continue;
      if (unknown.length < maxUnknown) unknown.push(shownPath(at));
      delete object[key];
    } else if (values !== true) pruneValue(object[key], values, at, unknown);
  }
}

function pruneValue(
  value: Json | undefined,
  schema: StructuralSchema,
  path: string,
  unknown: string[],
): void {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (items) for (let i = 0; i < value.length; i++) pruneValue(value[i], items, `${path}[${i}]`, unknown);
  } else if (isObject(value)) {
    // A schema that says nothing of an object's fields and does not keep them empties it.
    if (schema['type'] === undefined && Object.keys(propertiesOf(schema)).length === 0 && preserves(schema))
      return;
    pruneObject(value, schema, path, false, unknown);
  }
}
