// Metadata of a write that is about something else: all stays, but for what says which object and state is meant.
import type { JsonObject } from './declaration.ts';

const meant = ['name', 'namespace', 'uid', 'resourceVersion', 'managedFields'];

/** As upstream's strategies of subresources that start from the stored object. */
export function keptMetadata(now: JsonObject, old: JsonObject): JsonObject {
  const kept: JsonObject = { ...old };
  for (const key of meant) {
    const value = now[key];
    if (value === undefined) delete kept[key];
    else kept[key] = value;
  }
  return kept;
}
