// The answer as an audit event shows it: its status, and its object as JSON whatever it was sent as.
import type { AuditResponseStatus } from '../../api/audit/event.ts';
import type { Json, JsonObject } from '../../apimachinery/declaration.ts';
import type { StatusError } from '../../apimachinery/errors.ts';
import { isObject, obj } from '../../apimachinery/json-access.ts';
import { readJson } from '../../apimachinery/serializer/json-numbers.ts';
import type { ApiResponse } from '../http.ts';
import type { ProtobufCodec } from '../registry/decode-body.ts';

const statusStart = /^\{\s*"kind":\s*"Status"/;
const kindStart = /^\{\s*"(kind|apiVersion)":/;
const headBytes = 64;

export const contentTypeOf = ({ headers }: Pick<ApiResponse, 'headers'>): string =>
  String(headers['content-type'] ?? '')
    .split(';', 1)[0]!
    .trim();

/** Of an answer with a Status; otherwise the code alone. */
export function responseStatusOf(
  code: number,
  contentType: string,
  body: Buffer | undefined,
  readers: BodyReaders,
): AuditResponseStatus {
  // In other forms only a failure is looked at: objects are large, and few of them are a Status.
  if (body === undefined || (contentType !== 'application/json' && code < firstFailure)) return { code };
  const json = statusText(contentType, body, readers);
  if (json === undefined) return { code };
  const { status, message, reason, details } = readJson(json) as Partial<AuditResponseStatus>;
  return { status, message, reason, details, code };
}

const firstFailure = 400;

function statusText(contentType: string, body: Buffer, readers: BodyReaders): string | undefined {
  if (contentType === 'application/json')
    return statusStart.test(body.toString('latin1', 0, headBytes)) ? body.toString() : undefined;
  try {
    const json = jsonOf(contentType, body, readers);
    return json !== undefined && (readJson(json) as JsonObject)['kind'] === 'Status' ? json : undefined;
  } catch {
    return undefined;
  }
}

export const statusOfError = (error: StatusError): AuditResponseStatus => {
  const { status, message, reason, details } = error.status;
  return { status, message, reason, details, code: error.code };
};

export interface BodyReaders {
  readonly protobuf: ProtobufCodec | undefined;
  readonly readYaml: (text: string) => string;
}

/** undefined: the answer is no object of the API. */
export function responseObjectOf(
  contentType: string,
  body: Buffer,
  readers: BodyReaders,
  omitManagedFields: boolean,
): string | undefined {
  try {
    const json = jsonOf(contentType, body, readers);
    if (json === undefined || !kindStart.test(json.slice(0, headBytes))) return undefined;
    return omitManagedFields ? objectText(readJson(json) as JsonObject, true) : json;
  } catch {
    // As upstream: what can't be shown is left out of the event, and its request is served all the same.
    return undefined;
  }
}

function jsonOf(contentType: string, body: Buffer, { protobuf, readYaml }: BodyReaders): string | undefined {
  switch (contentType) {
    case 'application/json':
      return body.toString();
    case 'application/yaml':
      return readYaml(body.toString());
    case 'application/vnd.kubernetes.protobuf':
      return protobuf && objectText(protobuf.decode(body, { apiVersion: '', kind: '' }), false);
    default:
      return undefined;
  }
}

/** An object, or a list of them or a table, with or without what says who owns which field. */
export const objectText = (object: JsonObject, omitManagedFields: boolean): string =>
  JSON.stringify(omitManagedFields ? withoutManagedFields(object) : object);

function withoutManagedFields(value: Json): Json {
  if (!isObject(value)) return value;
  const { metadata, items, rows, ...rest } = value;
  const { managedFields, ...kept } = obj(metadata);
  return {
    ...rest,
    ...(metadata === undefined ? {} : { metadata: isObject(metadata) ? kept : metadata }),
    ...(items === undefined ? {} : { items: Array.isArray(items) ? items.map(withoutManagedFields) : items }),
    ...(rows === undefined ? {} : { rows: Array.isArray(rows) ? rows.map(withoutManagedRow) : rows }),
  };
}

const withoutManagedRow = (row: Json): Json =>
  isObject(row) && row['object'] !== undefined
    ? { ...row, object: withoutManagedFields(row['object']) }
    : row;
