// A write that changes nothing but the times in managedFields is no write: upstream's
// IgnoreManagedFieldsTimestampsTransformer.
import type { Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { identicalJson } from '../equality.ts';
import { isJsonObject, own } from '../patch/own-property.ts';
import { managedFieldsOf } from './managed-fields.ts';

/**
 * `live` when `result` says the same: then the bytes are the same too, whatever the order of members, and nothing is
 * stored. resourceVersion is not compared: it is the store's.
 */
export function* liveIfUnchanged(live: JsonObject, result: JsonObject): Steps<JsonObject> {
  if (!(yield* sameButForManagedFields(live, result))) return result;
  const [before, after] = [managedFieldsOf(live), managedFieldsOf(result)];
  if (identicalJson(before, after)) return live;
  return Array.isArray(before) && Array.isArray(after) && sameButForTimes(before, after) ? live : result;
}

function sameButForTimes(before: readonly Json[], after: readonly Json[]): boolean {
  if (before.length !== after.length) return false;
  // Times are part of the order of entries, so the same entry may stand elsewhere.
  const left = new Map<string, Json[]>();
  for (const entry of after) {
    const same = left.get(nameOf(entry));
    if (same === undefined) left.set(nameOf(entry), [entry]);
    else same.push(entry);
  }
  for (const entry of before) {
    const others = left.get(nameOf(entry)) ?? [];
    const at = others.findIndex((other) => identicalJson(withoutTime(entry), withoutTime(other)));
    if (at < 0) return false;
    others.splice(at, 1);
  }
  return true;
}

/** Whose entry it is: hardly any two are of the same. */
const nameOf = (entry: Json): string =>
  isJsonObject(entry)
    ? JSON.stringify([entry['manager'], entry['operation'], entry['apiVersion'], entry['subresource']])
    : '';

const withoutTime = (entry: Json): Json => (isJsonObject(entry) ? { ...entry, time: undefined } : entry);

function* sameButForManagedFields(live: JsonObject, result: JsonObject): Steps<boolean> {
  const [before, after] = [own(live, 'metadata'), own(result, 'metadata')];
  if (!isJsonObject(before) || !isJsonObject(after)) return false;
  return (
    (yield* sameMembers({ ...live, metadata: undefined }, { ...result, metadata: undefined })) &&
    (yield* sameMembers(serverless(before), serverless(after)))
  );
}

/** As identicalJson, each member in a step of its own. */
function* sameMembers(a: JsonObject, b: JsonObject): Steps<boolean> {
  for (const key in { ...a, ...b }) {
    if (!identicalJson(own(a, key), own(b, key))) return false;
    yield;
  }
  return true;
}

const serverless = (metadata: JsonObject): JsonObject => ({
  ...metadata,
  managedFields: undefined,
  resourceVersion: undefined,
});
