// The ConversionReview that a webhook is sent, and what its answer holds: it may say anything. Errors are in Go's words.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { isObject } from '../../../apimachinery/json-access.ts';

export type ConversionReviewVersion = 'v1' | 'v1beta1';

/** The first one that this server can write, as the definition prefers them. */
export const conversionReviewVersion = (versions: readonly string[]): ConversionReviewVersion | undefined =>
  versions.find((version): version is ConversionReviewVersion => version === 'v1' || version === 'v1beta1');

const group = 'apiextensions.k8s.io';

/** The objects are written as they are: as JSON that somebody else wrote. */
export function conversionReview(
  version: ConversionReviewVersion,
  request: { readonly uid: string; readonly desiredAPIVersion: string },
  objects: readonly Uint8Array[],
): Buffer {
  const { uid, desiredAPIVersion } = request;
  const parts: Uint8Array[] = [
    Buffer.from(
      `{"kind":"ConversionReview","apiVersion":"${group}/${version}","request":{"uid":${JSON.stringify(uid)},"desiredAPIVersion":${JSON.stringify(desiredAPIVersion)},"objects":[`,
    ),
  ];
  for (const [i, object] of objects.entries()) {
    if (i > 0) parts.push(comma);
    parts.push(object);
  }
  parts.push(end);
  return Buffer.concat(parts);
}
const comma = Buffer.from(',');
const end = Buffer.from(']}}');

const jsonType = (value: Json): string => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'object' ? 'object' : 'number';
};

/** null is nothing. Throws Error for what is not of the type. */
function memberOf<T extends Json>(
  parent: JsonObject,
  path: string,
  goType: string,
  is: (value: Json) => value is T,
): T | undefined {
  const key = path.slice(path.lastIndexOf('.') + 1);
  const value = Object.hasOwn(parent, key) ? (parent[key] ?? null) : null;
  if (value === null) return undefined;
  if (is(value)) return value;
  throw new Error(
    `json: cannot unmarshal ${jsonType(value)} into Go struct field ConversionReview.${path} of type ${goType}`,
  );
}

const isText = (value: Json): value is string => typeof value === 'string';
const isStruct = (value: Json): value is JsonObject => isObject(value);
const isList = (value: Json): value is Json[] => Array.isArray(value);

const textOf = (parent: JsonObject, path: string): string => memberOf(parent, path, 'string', isText) ?? '';

function kindText(review: JsonObject): string {
  const apiVersion = textOf(review, 'apiVersion');
  const slash = apiVersion.indexOf('/');
  const [of, version] =
    slash < 0 ? ['', apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)];
  return `${of}/${version}, Kind=${textOf(review, 'kind')}`;
}

/** The objects that the webhook answers with. Throws Error: it is no answer to what was asked, or a failure. */
export function convertedObjectsIn(
  review: JsonObject,
  asked: { readonly version: ConversionReviewVersion; readonly uid: string },
): readonly Json[] {
  const expected = `${group}/v1, Kind=ConversionReview`;
  if (asked.version === 'v1' && kindText(review) !== expected)
    throw new Error(`expected webhook response of ${expected}, got ${kindText(review)}`);
  const response = memberOf(review, 'response', 'v1.ConversionResponse', isStruct);
  if (response === undefined) throw new Error('no response provided');
  const uid = textOf(response, 'response.uid');
  // The older version never looked at it.
  if (asked.version === 'v1' && uid !== asked.uid)
    throw new Error(`expected response.uid=${JSON.stringify(asked.uid)}, got ${JSON.stringify(uid)}`);
  const result = memberOf(response, 'response.result', 'v1.Status', isStruct) ?? {};
  const status = textOf(result, 'response.result.status');
  if (status !== 'Success') {
    const message = textOf(result, 'response.result.message');
    throw new Error(message !== '' ? message : `response.result.status was '${status}', not 'Success'`);
  }
  return memberOf(response, 'response.convertedObjects', '[]runtime.RawExtension', isList) ?? [];
}
