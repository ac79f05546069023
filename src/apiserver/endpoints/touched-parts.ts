// Reads of a patched object what its patch has touched: the rest was read as its kind when it was stored.
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import { copyJson, isObject } from '../../apimachinery/json-access.ts';
import { own } from '../../apimachinery/patch/own-property.ts';
import { put } from '../../base/put.ts';

/**
 * `result` shares with `current` what the patch left alone, and so does the answer. `read` is given a copy of the other
 * members, those of metadata one by one, and reads it in place.
 */
export function readTouched(
  result: JsonObject,
  current: JsonObject,
  read: (parts: JsonObject) => JsonObject,
): JsonObject {
  const [now, before] = [result['metadata'], current['metadata']];
  const parts = touchedOf(result, current);
  const hasMetadata = isObject(now) && isObject(before);
  if (hasMetadata) parts['metadata'] = touchedOf(now, before);
  const checked = read(copyJson(parts));
  const whole = together(checked, result, current);
  const checkedMetadata = checked['metadata'];
  if (hasMetadata && isObject(checkedMetadata)) whole['metadata'] = together(checkedMetadata, now, before);
  return whole;
}

const isSame = (a: Json | undefined, b: Json | undefined): boolean => typeof a === 'object' && a === b;

function touchedOf(result: JsonObject, current: JsonObject): JsonObject {
  const touched: JsonObject = {};
  for (const key in result) if (!isSame(result[key], own(current, key))) put(touched, key, result[key]);
  return touched;
}

/** In the order of the result; what only `checked` has are defaults. */
function together(checked: JsonObject, result: JsonObject, current: JsonObject): JsonObject {
  const whole: JsonObject = {};
  for (const key in result) {
    const value = isSame(result[key], own(current, key)) ? result[key] : own(checked, key);
    if (value !== undefined) put(whole, key, value);
  }
  for (const key in checked) if (!Object.hasOwn(result, key)) put(whole, key, checked[key]);
  return whole;
}
