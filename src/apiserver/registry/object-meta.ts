// The rules of metadata that hold for every kind of the registry: names, what may not change, what a client may leave out.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { jsonEqual } from '../../apimachinery/equality.ts';
import type { FieldError } from '../../apimachinery/field-error.ts';
import { forbidden, invalid } from '../../apimachinery/field-error.ts';
import { isObject, obj, strs } from '../../apimachinery/json-access.ts';
import { type MetaOf, validateObjectMeta } from '../../apimachinery/validation/object-meta.ts';
import type { Steps } from '../../base/turns.ts';

export const metadataOf = (object: JsonObject): JsonObject => obj(object['metadata']);

/** The default rule of names: what may stand in a path and in DNS. */
export function nameErrors(name: string): string[] {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  const bad = ['/', '%'].filter((ch) => name.includes(ch));
  return bad.map((ch) => `may not contain '${ch}'`);
}

const immutable: readonly string[] = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
];

/** Upstream's ValidateObjectMetaUpdate, after what the server owns was carried over. */
export function* validateObjectMetaUpdate(
  meta: JsonObject,
  old: JsonObject,
  kind: MetaOf,
): Steps<FieldError[]> {
  const errors = yield* validateObjectMeta(meta, kind);
  if (old['deletionTimestamp'] !== undefined) {
    const known = new Set(strs(old['finalizers']));
    const added = strs(meta['finalizers']).filter((name) => !known.has(name));
    if (added.length > 0)
      errors.push(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((f) => JSON.stringify(f)).join(', ')}}`,
        ),
      );
  }
  for (const key of immutable)
    if (!jsonEqual(meta[key], old[key]))
      errors.push(invalid(`metadata.${key}`, meta[key] ?? null, 'field is immutable'));
  return errors;
}

/** What a client may leave out of an update, and what it may not choose: upstream's BeforeUpdate. */
export function carryOverMeta(meta: JsonObject, old: JsonObject): void {
  for (const key of ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'])
    if (meta[key] === undefined || meta[key] === null || meta[key] === '') copy(meta, old, key);
  for (const key of ['creationTimestamp', 'deletionTimestamp'])
    if (old[key] !== undefined) copy(meta, old, key);
  copy(meta, old, 'generation');
  delete meta['selfLink'];
}

function copy(to: JsonObject, from: JsonObject, key: string): void {
  const value: Json | undefined = from[key];
  if (value === undefined) delete to[key];
  else to[key] = value;
}

/** True when something other than metadata and status changed: the generation counts it. */
export function specChanged(object: JsonObject, old: JsonObject): boolean {
  for (const key of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (key === 'metadata' || key === 'status' || key === 'kind' || key === 'apiVersion') continue;
    if (!jsonEqual(object[key], old[key])) return true;
  }
  return false;
}

export const ensureMeta = (object: JsonObject): JsonObject => {
  if (!isObject(object['metadata'])) object['metadata'] = {};
  return object['metadata'] as JsonObject;
};
