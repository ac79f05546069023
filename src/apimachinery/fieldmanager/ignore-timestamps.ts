// A write that changes nothing but the times in managedFields is no write: upstream's
// IgnoreManagedFieldsTimestampsTransformer.
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject, jsonEqual, own } from '../patch/own-property.ts';
import { managedFieldsOf } from './managed-fields.ts';

/** `result`, with the live times when all else is as it was; then it equals `live` and need not be stored. */
export function keepTimesIfUnchanged(live: JsonObject, result: JsonObject): JsonObject {
  const [before, after] = [managedFieldsOf(live), managedFieldsOf(result)];
  if (!Array.isArray(before) || !Array.isArray(after) || jsonEqual(before, after)) return result;
  if (!sameButForTimes(before, after) || !sameButForManagedFields(live, result)) return result;
  return { ...result, metadata: { ...(result.metadata as JsonObject), managedFields: before } };
}

function sameButForTimes(before: readonly Json[], after: readonly Json[]): boolean {
  if (before.length !== after.length) return false;
  // Times are part of the order of entries, so the same entry may stand elsewhere.
  const left = [...after];
  for (const entry of before) {
    const at = left.findIndex((other) => jsonEqual(withoutTime(entry), withoutTime(other)));
    if (at < 0) return false;
    left.splice(at, 1);
  }
  return true;
}

const withoutTime = (entry: Json): Json => (isJsonObject(entry) ? { ...entry, time: undefined } : entry);

function sameButForManagedFields(live: JsonObject, result: JsonObject): boolean {
  const [before, after] = [own(live, 'metadata'), own(result, 'metadata')];
  if (!isJsonObject(before) || !isJsonObject(after)) return false;
  return (
    jsonEqual({ ...before, managedFields: undefined }, { ...after, managedFields: undefined }) &&
    jsonEqual({ ...live, metadata: undefined }, { ...result, metadata: undefined })
  );
}
