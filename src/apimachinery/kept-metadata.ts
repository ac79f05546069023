// Metadata of a write that is about something else: all stays, but for what says which object and state is meant.
import type { JsonObject } from './json.ts';

const meant: readonly string[] = ['name', 'namespace', 'uid', 'resourceVersion', 'managedFields'];

function put<Meta extends object>(into: Meta, from: Meta, fields: readonly (keyof Meta)[]): Meta {
  for (const field of fields) {
    if (from[field] === undefined) delete into[field];
    else into[field] = from[field];
  }
  return into;
}

/** As upstream's strategies of subresources that start from the stored object. */
export const keptMetadata = <Meta extends object>(now: Meta, old: Meta): Meta =>
  put({ ...old }, now, meant as readonly (keyof Meta)[]);

/** What of its metadata a kind puts back when its status is written: all of it, or some fields. */
export type KeptByStatus = 'all' | readonly string[];

export function metadataOfStatus(
  kept: KeptByStatus | undefined,
  now: JsonObject,
  old: JsonObject,
): JsonObject {
  if (kept === undefined) return now;
  return kept === 'all' ? keptMetadata(now, old) : put({ ...now }, old, kept);
}

/** The same as paths: nobody owns through the status what is put back. */
export function pathsOfKept(kept: KeptByStatus | undefined): readonly (readonly string[])[] {
  if (kept === 'all') return [['metadata']];
  return (kept ?? []).map((field) => ['metadata', field]);
}
