// From client-side to server-side apply: what kubectl applied before by itself is not held against it, and its annotation
// is kept up. Upstream's lastAppliedManager and lastAppliedUpdater.
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import { readJson } from '../serializer/json-numbers.ts';
import { difference, emptySet, type FieldSet, isEmptySet } from './field-set.ts';
import type { Conflict } from './managed-fields.ts';
import { compare } from './typed-compare.ts';
import type { TypedSchema } from './typed-schema.ts';
import { fieldSetOf } from './typed-set.ts';

const annotation = 'kubectl.kubernetes.io/last-applied-configuration';
/** As upstream's TotalAnnotationSizeLimitB: an annotation that fits no more is left out. */
const maxAnnotationLength = 256 * 1024;
/** Whoever names another manager wants nothing of this. */
const kubectl = 'kubectl';

function annotationsOf(object: JsonObject | undefined): JsonObject {
  const metadata = object === undefined ? undefined : own(object, 'metadata');
  const annotations = isJsonObject(metadata) ? own(metadata, 'annotations') : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

/** The fields that the annotation names, as far as they still have the value that it gives. */
function lastAppliedSet(schema: TypedSchema, live: JsonObject, apiVersion: string): FieldSet {
  const text = own(annotationsOf(live), annotation);
  if (typeof text !== 'string' || text === '') return emptySet;
  try {
    const lastApplied = readJson(text);
    if (!isJsonObject(lastApplied) || lastApplied['apiVersion'] !== apiVersion) return emptySet;
    const { added, modified, removed } = compare(schema, lastApplied, live);
    return [modified, added, removed].reduce(difference, fieldSetOf(schema, lastApplied));
  } catch {
    // It is written by people, too: one that can't be read allows nothing.
    return emptySet;
  }
}

/** The conflicts that stay when `manager` is the one that applied by the client before. */
export function withoutLastApplied(
  conflicts: readonly Conflict[],
  manager: string,
  schema: TypedSchema,
  live: JsonObject | undefined,
  apiVersion: string,
): readonly Conflict[] {
  if (manager !== kubectl || live === undefined || conflicts.length === 0) return conflicts;
  const allowed = lastAppliedSet(schema, live, apiVersion);
  return conflicts
    .map((conflict) => ({ ...conflict, set: difference(conflict.set, allowed) }))
    .filter(({ set }) => !isEmptySet(set));
}

function sorted(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => sorted(item) ?? null);
  if (!isJsonObject(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key])])) as JsonObject;
}

/** An object that has the annotation gets the applied configuration as its new value. */
export function withLastApplied(result: JsonObject, applied: JsonObject, manager: string): JsonObject {
  const annotations = annotationsOf(result);
  if (manager !== kubectl || !own(annotations, annotation)) return result;
  const { [annotation]: _, ...others } = annotationsOf(applied);
  const metadata = isJsonObject(applied['metadata']) ? applied['metadata'] : {};
  const bare = metadata['annotations'] === undefined ? metadata : { ...metadata, annotations: others };
  const text = `${JSON.stringify(sorted({ ...applied, metadata: bare }))}\n`;
  const { [annotation]: was, ...kept } = annotations;
  const size = Object.entries(kept).reduce(
    (sum, [key, value]) => sum + key.length + String(value).length,
    annotation.length + text.length,
  );
  const next = size > maxAnnotationLength ? kept : { ...annotations, [annotation]: text };
  return { ...result, metadata: { ...(result['metadata'] as JsonObject), annotations: next } };
}
