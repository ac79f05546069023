// What a webhook answers: read member by member as its kind, since it may say anything. Errors are in Go's words.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import type { Status, StatusDetails } from '../../../apimachinery/errors.ts';
import { isObject } from '../../../apimachinery/json-access.ts';
import { parseJsonText } from '../../../apimachinery/serializer/json-text.ts';
import type { ReviewVersion } from './review-builder.ts';

export interface AdmissionAnswer {
  readonly allowed: boolean;
  readonly result: Partial<Status> | undefined;
  /** A list of operations, as text. */
  readonly patch: string;
  readonly patchType: string;
  readonly warnings: readonly string[];
  readonly annotations: ReadonlyMap<string, string>;
}

type Kind = 'bool' | 'string' | 'int32' | 'struct';
const structs: Readonly<Record<string, string>> = {
  response: 'AdmissionReview.response',
  result: 'AdmissionResponse.response.status',
};

const typeNames = { boolean: 'bool', string: 'string', number: 'number', bigint: 'number' } as const;
const goType = (value: Json): string =>
  Array.isArray(value) ? 'array' : (typeNames[typeof value as keyof typeof typeNames] ?? 'object');

const isKind = (value: Json, kind: Kind): boolean => {
  if (kind === 'bool') return typeof value === 'boolean';
  if (kind === 'string') return typeof value === 'string';
  if (kind === 'int32') return Number.isInteger(value) && Math.abs(value as number) < 2 ** 31;
  return isObject(value);
};

/** undefined when it is absent or null. Throws Error for another type. */
function member(parent: JsonObject, path: string, kind: Kind): Json | undefined {
  const key = path.slice(path.lastIndexOf('.') + 1);
  const value = Object.hasOwn(parent, key) ? parent[key] : undefined;
  if (value === undefined || value === null) return undefined;
  if (isKind(value, kind)) return value;
  const wanted = kind === 'struct' ? (structs[key] ?? key) : kind;
  throw new Error(
    `json: cannot unmarshal ${goType(value)} into Go struct field AdmissionReview.${path} of type ${wanted}`,
  );
}

const text = (parent: JsonObject, path: string): string => (member(parent, path, 'string') ?? '') as string;

function texts(parent: JsonObject, path: string): string[] {
  const value = parent[path.slice(path.lastIndexOf('.') + 1)];
  if (value === undefined || value === null) return [];
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return value;
  throw new Error(
    `json: cannot unmarshal ${goType(value)} into Go struct field AdmissionReview.${path} of type []string`,
  );
}

function annotationsOf(response: JsonObject): Map<string, string> {
  const value = (member(response, 'response.auditAnnotations', 'struct') ?? {}) as JsonObject;
  return new Map(
    Object.entries(value).map(([key, one = null]) => {
      if (typeof one === 'string' || one === null) return [key, one ?? ''];
      throw new Error(
        `json: cannot unmarshal ${goType(one)} into Go struct field AdmissionReview.response.auditAnnotations of type string`,
      );
    }),
  );
}

/** Only what details are, each of its type: some of it becomes a header. */
function detailsOf(status: JsonObject): StatusDetails | undefined {
  const at = 'response.status.details';
  const details = member(status, at, 'struct') as JsonObject | undefined;
  if (details === undefined) return undefined;
  const { causes } = details;
  return {
    name: text(details, `${at}.name`),
    group: text(details, `${at}.group`),
    kind: text(details, `${at}.kind`),
    uid: text(details, `${at}.uid`),
    ...(Array.isArray(causes) && causes.length > 0
      ? {
          causes: causes.filter(isObject).map((cause) => ({
            reason: text(cause, `${at}.causes.reason`),
            message: text(cause, `${at}.causes.message`),
            field: text(cause, `${at}.causes.field`),
          })),
        }
      : {}),
    retryAfterSeconds: (member(details, `${at}.retryAfterSeconds`, 'int32') ?? 0) as number,
  };
}

function resultOf(response: JsonObject): Partial<Status> | undefined {
  const value = member(response, 'response.status', 'struct') as JsonObject | undefined;
  if (value === undefined) return undefined;
  const details = detailsOf(value);
  return {
    message: text(value, 'response.status.message'),
    reason: text(value, 'response.status.reason'),
    code: (member(value, 'response.status.code', 'int32') ?? 0) as number,
    ...(details === undefined ? {} : { details }),
  };
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/;

function patchOf(response: JsonObject): string {
  const encoded = text(response, 'response.patch');
  const digits = encoded.replaceAll(/[\r\n]/g, '');
  if (!base64.test(digits) || digits.length % 4 !== 0) {
    const at = /[^A-Za-z0-9+/\r\n]/.exec(encoded)?.index ?? encoded.length;
    throw new Error(`illegal base64 data at input byte ${at}`);
  }
  return Buffer.from(encoded, 'base64').toString();
}

function gvkText(review: JsonObject): string {
  const apiVersion = text(review, 'apiVersion');
  const at = apiVersion.indexOf('/');
  const group = at < 0 ? '' : apiVersion.slice(0, at);
  return `${group}/${apiVersion.slice(at + 1)}, Kind=${text(review, 'kind')}`;
}

/** The review of an answer's body. Throws Error. */
export function readReview(body: Buffer, code: number, contentType: string): JsonObject {
  if (body.length === 0)
    throw new Error(`0-length response with status code: ${code} and content type: ${contentType}`);
  let value: Json;
  try {
    ({ value } = parseJsonText(body.toString()));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`couldn't get version/kind; json parse error: ${why}`, { cause: error });
  }
  if (!isObject(value))
    throw new Error(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${goType(value)} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    );
  return value;
}

interface Asked {
  readonly uid: string;
  readonly version: ReviewVersion;
  readonly mutating: boolean;
}

/** Throws Error when the review is no answer to what was asked. */
export function verifiedAnswer(review: JsonObject, asked: Asked): AdmissionAnswer {
  const response = member(review, 'response', 'struct') as JsonObject | undefined;
  if (response === undefined) throw new Error('webhook response was absent');
  const patch = patchOf(response);
  const given = member(response, 'response.patchType', 'string') as string | undefined;
  if (asked.version === 'v1') verifyStrictly(review, response, { ...asked, patch, patchType: given });
  const isPatched = asked.mutating && patch !== '';
  return {
    allowed: member(response, 'response.allowed', 'bool') === true,
    result: resultOf(response),
    patch: asked.mutating ? patch : '',
    // The older version never looked at it.
    patchType: asked.version === 'v1' ? (given ?? '') : isPatched ? 'JSONPatch' : '',
    warnings: texts(response, 'response.warnings'),
    annotations: annotationsOf(response),
  };
}

function verifyStrictly(
  review: JsonObject,
  response: JsonObject,
  asked: Asked & { readonly patch: string; readonly patchType: string | undefined },
): void {
  const { patch, patchType } = asked;
  const uid = text(response, 'response.uid');
  if (uid !== asked.uid)
    throw new Error(`expected response.uid=${JSON.stringify(asked.uid)}, got ${JSON.stringify(uid)}`);
  const expected = 'admission.k8s.io/v1, Kind=AdmissionReview';
  if (gvkText(review) !== expected)
    throw new Error(`expected webhook response of ${expected}, got ${gvkText(review)}`);
  if (!asked.mutating) {
    if (patch !== '') throw new Error('validating webhook may not return response.patch');
    if (patchType !== undefined) throw new Error('validating webhook may not return response.patchType');
    return;
  }
  if (patch !== '' && patchType === undefined)
    throw new Error('webhook returned response.patch but not response.patchType');
  if (patch === '' && patchType !== undefined)
    throw new Error('webhook returned response.patchType but not response.patch');
  if (patchType === '') throw new Error('webhook returned invalid response.patchType of ""');
}
