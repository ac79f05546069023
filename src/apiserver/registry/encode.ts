// Writes an object as the bytes that are stored, cached and served: kind first, resourceVersion at a known place.
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { readJson, readJsonSteps } from '../../apimachinery/serializer/json-numbers.ts';
import { htmlSafe } from '../../base/html-safe-json.ts';
import { writeSteps } from '../../base/json-steps.ts';
import type { Steps } from '../../base/turns.ts';
import type { Draft, Revision } from '../../storage/storage.ts';

const firstOfMetadata: readonly string[] = ['name', 'generateName', 'namespace', 'uid'];

/**
 * The revision is left empty; the store writes it at `revisionAt`. `newest`, the store's revision, tells how much room it
 * will probably take: these very bytes are kept then, and no copy of them waits for the collector. `asGo`: escaped as Go's
 * encoder does.
 */
export function encodeDraft(object: JsonObject, newest: Revision = 0, asGo = false): Draft {
  const { head, rest } = partsOf(object);
  const room = newest === 0 ? '' : '0'.repeat(String(newest + 1).length);
  const json = JSON.stringify(rest);
  const text = `${head}${room}${afterRevision(asGo ? htmlSafe(json) : json)}`;
  // Not from the pool: a value of its own must not keep others alive.
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return { bytes, revisionAt: Buffer.byteLength(head), gap: room.length };
}

/** The same in steps, for large objects. */
export function* encodeDraftSteps(object: JsonObject, asGo = false): Steps<Draft> {
  const { head, rest } = partsOf(object);
  const pieces = [Buffer.from(head)];
  yield* writeSteps(rest, (piece) => {
    const json = asGo ? htmlSafe(piece) : piece;
    pieces.push(Buffer.from(pieces.length === 1 ? afterRevision(json) : json));
  });
  return { bytes: Buffer.concat(pieces), revisionAt: pieces[0]!.length };
}

/** What stands before the revision, and the object without it. */
function partsOf(object: JsonObject): { readonly head: string; readonly rest: JsonObject } {
  const { kind, apiVersion, metadata, ...rest } = object;
  const meta = metadata as JsonObject;
  let head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":{`;
  for (const key of firstOfMetadata) {
    const value = meta[key];
    if (value !== undefined && value !== '') head += `${JSON.stringify(key)}:${JSON.stringify(value)},`;
  }
  head += '"resourceVersion":"';
  const { name, generateName, namespace, uid, resourceVersion, ...others } = meta;
  return { head, rest: { metadata: others, ...rest } };
}

/** `{"metadata":{` is cut off; what follows is the rest of metadata and of the object. */
function afterRevision(text: string): string {
  const body = text.slice(13);
  return `"${body.startsWith('}') ? '' : ','}${body}`;
}

export const decodeEntry = (value: Buffer): JsonObject => readJson(value.toString()) as JsonObject;

/** The same in steps, for large objects. */
export const decodeEntrySteps = (value: Buffer): Steps<JsonObject> =>
  readJsonSteps(value.toString()) as Steps<JsonObject>;
