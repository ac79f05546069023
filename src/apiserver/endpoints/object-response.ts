// Encodes objects as the client asked: JSON as stored, Table, metadata only, YAML, protobuf, indented.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { notAcceptable } from '../../apimachinery/errors.ts';
import { obj, objs } from '../../apimachinery/json-access.ts';
import { includeObjectFrom, partialObjectMetadata, tableOf } from '../../apimachinery/table.ts';
import { toYaml } from '../../base/yaml.ts';
import type { ApiResponse } from '../http.ts';
import type { ProtobufCodec } from '../registry/decode-body.ts';
import type { RequestContext } from '../request-context.ts';
import { bytesResponse } from '../response.ts';
import { contentTypes, type Negotiated, negotiate } from './negotiation.ts';

export interface Encoding {
  readonly protobuf: ProtobufCodec | undefined;
  now(): number;
}

/** As upstream: browsers and curl get indented text unless they ask otherwise. */
function wantsPretty(context: RequestContext): boolean {
  const agent = context.header('user-agent');
  const asked = context.request.url.includes('pretty=') ? context.query.get('pretty') : null;
  if (asked !== null && asked !== '') return !['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(asked);
  return agent.startsWith('curl') || agent.startsWith('Wget') || agent.startsWith('Mozilla/5.0');
}

/** Text or bytes of any object in a media type that is not the stored one. */
function encodeObject(
  context: RequestContext,
  negotiated: Negotiated,
  object: JsonObject,
  encoding: Encoding,
): Buffer {
  switch (negotiated.mediaType) {
    case 'yaml':
      return Buffer.from(toYaml(object));
    case 'protobuf':
      if (encoding.protobuf === undefined) throw notAcceptable(['application/json', 'application/yaml']);
      return encodeProtobufObject(encoding.protobuf, object);
    default:
      return wantsPretty(context)
        ? Buffer.from(`${JSON.stringify(object, undefined, 2)}\n`)
        : Buffer.from(`${JSON.stringify(object)}\n`);
  }
}

export function respondObject(
  context: RequestContext,
  status: number,
  object: JsonObject,
  encoding: Encoding,
): ApiResponse {
  const negotiated = negotiate(context.header('accept'));
  const plain: Negotiated = { ...negotiated, form: 'object' };
  return bytesResponse(
    status,
    encodeObject(context, plain, object, encoding),
    contentTypes[negotiated.mediaType],
  );
}

/** What a handler answers with: like a stored object when it is of the resource's own kind, else as it is. */
export function respondRest(
  context: RequestContext,
  status: number,
  object: JsonObject,
  declaration: ResourceDeclaration,
  encoding: Encoding,
): ApiResponse {
  const own = object['kind'] === declaration.kind;
  if (!own && object['kind'] !== declaration.listKind)
    return respondObject(context, status, object, encoding);
  const negotiated = negotiate(context.header('accept'));
  const shaped = own
    ? shape(context, negotiated, object, declaration, encoding.now())
    : shapeList(
        context,
        negotiated,
        obj(object['metadata']),
        objs(object['items']),
        declaration,
        encoding.now(),
      );
  return bytesResponse(
    status,
    encodeObject(context, negotiated, shaped, encoding),
    contentTypes[negotiated.mediaType],
  );
}

/** One stored object. The bytes go out untouched when the client takes JSON. */
export function respondStored(
  context: RequestContext,
  status: number,
  value: Buffer,
  declaration: ResourceDeclaration,
  encoding: Encoding,
): ApiResponse {
  const negotiated = negotiate(context.header('accept'));
  if (negotiated.mediaType === 'json' && negotiated.form === 'object' && !wantsPretty(context))
    return bytesResponse(status, value);
  const object = JSON.parse(value.toString()) as JsonObject;
  const shaped = shape(context, negotiated, object, declaration, encoding.now());
  return bytesResponse(
    status,
    encodeObject(context, negotiated, shaped, encoding),
    contentTypes[negotiated.mediaType],
  );
}

const versionOf = (negotiated: Negotiated): 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1' =>
  `meta.k8s.io/${negotiated.formVersion}`;

function shape(
  context: RequestContext,
  negotiated: Negotiated,
  object: JsonObject,
  declaration: ResourceDeclaration,
  now: number,
): JsonObject {
  if (negotiated.form === 'Table') {
    const metadata = object['metadata'] as JsonObject | undefined;
    return tableOf(declaration, [object], {
      now,
      includeObject: includeObjectFrom(context.query.get('includeObject')),
      version: versionOf(negotiated),
      metadata: { resourceVersion: metadata?.['resourceVersion'] ?? '' },
    });
  }
  if (negotiated.form === 'object') return object;
  return partialObjectMetadata(object, versionOf(negotiated));
}

export interface ListParts {
  readonly metadata: JsonObject;
  readonly values: readonly Buffer[];
}

/** A list: its head and the objects' bytes, in order. */
export function respondList(
  context: RequestContext,
  list: ListParts,
  declaration: ResourceDeclaration,
  encoding: Encoding,
): ApiResponse {
  const negotiated = negotiate(context.header('accept'));
  if (negotiated.mediaType === 'json' && negotiated.form === 'object' && !wantsPretty(context))
    return bytesResponse(200, framedList(list, declaration));
  const objects = list.values.map((value) => JSON.parse(value.toString()) as JsonObject);
  const shaped = shapeList(context, negotiated, list.metadata, objects, declaration, encoding.now());
  return bytesResponse(
    200,
    encodeObject(context, negotiated, shaped, encoding),
    contentTypes[negotiated.mediaType],
  );
}

const comma = Buffer.from(',');
const listEnd = Buffer.from(']}\n');

function framedList(list: ListParts, declaration: ResourceDeclaration): Buffer[] {
  const apiVersion =
    declaration.group === '' ? declaration.version : `${declaration.group}/${declaration.version}`;
  const head = `{"kind":"${declaration.listKind}","apiVersion":"${apiVersion}","metadata":${JSON.stringify(list.metadata)},"items":[`;
  const parts: Buffer[] = [Buffer.from(head)];
  for (let i = 0; i < list.values.length; i++) {
    if (i > 0) parts.push(comma);
    parts.push(list.values[i]!);
  }
  parts.push(listEnd);
  return parts;
}

function shapeList(
  context: RequestContext,
  negotiated: Negotiated,
  metadata: JsonObject,
  objects: readonly JsonObject[],
  declaration: ResourceDeclaration,
  now: number,
): JsonObject {
  const version = versionOf(negotiated);
  if (negotiated.form === 'Table')
    return tableOf(declaration, objects, {
      now,
      includeObject: includeObjectFrom(context.query.get('includeObject')),
      version,
      metadata,
    });
  if (negotiated.form !== 'object')
    return {
      kind: 'PartialObjectMetadataList',
      apiVersion: version,
      metadata,
      items: objects.map((object) => partialObjectMetadata(object, version)),
    };
  return {
    kind: declaration.listKind,
    apiVersion:
      declaration.group === '' ? declaration.version : `${declaration.group}/${declaration.version}`,
    metadata,
    items: [...objects],
  };
}

function encodeProtobufObject(codec: ProtobufCodec, object: JsonObject): Buffer {
  try {
    return codec.encode(object);
  } catch {
    throw notAcceptable(['application/json', 'application/yaml']);
  }
}
