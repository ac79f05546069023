// What of a webhook's answer becomes of an object: its version, its own fields, labels and annotations. All else of its
// metadata stays as it was. Errors are in Go's words.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { type FieldError, fieldErrorText } from '../../../apimachinery/field-error.ts';
import { isObject, str } from '../../../apimachinery/json-access.ts';
import { annotationErrors, labelErrors } from '../../../apimachinery/validation/object-meta.ts';

/** As Go's %T has what it reads of JSON. */
function goTypeOf(value: Json | undefined): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  return Number.isInteger(value) || typeof value === 'bigint' ? 'int64' : 'float64';
}

const maxShown = 1024;
const shown = (value: Json): string => {
  const text = JSON.stringify(value);
  return text.length > maxShown ? `${text.slice(0, maxShown)}...` : text;
};

/** Throws Error when it is no object of any kind. */
export function readConverted(value: Json): JsonObject {
  if (value === null) throw new Error('unexpected end of JSON input');
  if (!isObject(value))
    throw new Error(
      `json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type struct { Items json.RawMessage }`,
    );
  if (str(value['kind']) === '') throw new Error(`Object 'Kind' is missing in '${shown(value)}'`);
  return value;
}

const same: readonly (readonly [name: string, field: string])[] = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['UID', 'uid'],
];

const metadataIn = (object: JsonObject): JsonObject =>
  isObject(object['metadata']) ? object['metadata'] : {};

/** Throws Error when it is another object. */
function assertSame(original: JsonObject, converted: JsonObject): void {
  for (const [name, field] of same) {
    const expected = str(metadataIn(original)[field]);
    const got = str(metadataIn(converted)[field]);
    if (expected !== got) throw new Error(`must have the same ${name}: ${expected} != ${got}`);
  }
}

const aggregate = (errors: readonly FieldError[]): Error => {
  const texts = [...new Set(errors.map(fieldErrorText))];
  return new Error(texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`);
};

/** What the answer says of labels or annotations; undefined when it has none. Throws Error. */
function changedTexts(
  name: 'labels' | 'annotations',
  before: Json | undefined,
  given: Json | undefined,
): JsonObject | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isObject(given))
    throw new Error(`invalid metadata.${name} of type ${goTypeOf(given)} in converted object`);
  if (before !== undefined && before !== null && !isObject(before))
    throw new Error(`invalid metadata.${name} of type ${goTypeOf(before)} in original object`);
  const old = isObject(before) ? before : {};
  const keys = Object.keys(given);
  let changed = Object.keys(old).length !== keys.length;
  for (const key of keys) {
    if (typeof given[key] !== 'string')
      throw new Error(
        `metadata.${name}[${key}] must be a string, but is ${goTypeOf(given[key])} in converted object`,
      );
    changed ||= !Object.hasOwn(old, key) || old[key] !== given[key];
  }
  if (!changed) return given;
  // Upstream calls the field of annotations by another name here.
  const errors =
    name === 'labels'
      ? labelErrors(given, 'metadata.labels')
      : annotationErrors(given, 'metadata.annotation');
  if (errors.length > 0) throw aggregate(errors);
  return given;
}

/** Throws Error: `{ where: 'object' | 'metadata' }` tells which of upstream's two messages it belongs to. */
export class UnfitConversion extends Error {
  readonly where: 'object' | 'metadata';
  constructor(where: 'object' | 'metadata', cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.where = where;
  }
}

function within<T>(where: 'object' | 'metadata', work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new UnfitConversion(where, error);
  }
}

/** Gives the converted object the metadata of the original, with its own labels and annotations. Throws UnfitConversion. */
export function restoreMetadata(original: JsonObject, converted: JsonObject): JsonObject {
  within('object', () => assertSame(original, converted));
  return within('metadata', () => {
    if (!Object.hasOwn(converted, 'metadata')) throw new Error('missing metadata in converted object');
    const given = converted['metadata'];
    if (!isObject(given)) throw new Error(`invalid metadata of type ${goTypeOf(given)} in converted object`);
    const metadata: JsonObject = { ...metadataIn(original) };
    for (const name of ['labels', 'annotations'] as const) {
      const texts = changedTexts(name, metadata[name], given[name]);
      if (texts === undefined) delete metadata[name];
      else metadata[name] = texts;
    }
    return { ...converted, metadata };
  });
}
