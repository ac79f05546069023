// Encodes objects as the client asked: JSON as stored, Table, metadata only, YAML, protobuf, indented.
import type { JsonObject, ResourceDeclaration } from '../../apimachinery/declaration.ts';
import { notAcceptable, StatusError } from '../../apimachinery/errors.ts';
import { obj, objs } from '../../apimachinery/json-access.ts';
import { NoProtobufForm } from '../../apimachinery/serializer/protobuf/encode.ts';
import {
  type IncludeObject,
  includeObjectFrom,
  partialObjectMetadata,
  type TableForm,
  type TableOptions,
  tableOf,
} from '../../apimachinery/table.ts';
import type { Clock } from '../../base/clock.ts';
import { Slice, type Turns } from '../../base/turns.ts';
import { encodeAnswer, wantsPretty } from '../encode-answer.ts';
import type { ApiResponse } from '../http.ts';
import { contentTypes, type Endpoints, formsOf, type Negotiated, negotiate } from '../negotiation.ts';
import type { ProtobufCodec } from '../registry/decode-body.ts';
import { internalPackage } from '../registry/decode-body.ts';
import { decodeEntry } from '../registry/encode.ts';
import { storedMetadata } from '../registry/stored-metadata.ts';
import { heavyBytes, type RequestContext } from '../request-context.ts';
import { bytesResponse } from '../response.ts';
import { type Conversion, ConvertedBody } from './converted-body.ts';
import { jsonList, type ListWriter, prettyList, yamlList } from './list-writer.ts';

export interface Encoding {
  readonly protobuf: ProtobufCodec | undefined;
  now(): number;
  /** Conversions of much take their turns here. */
  readonly turns: Turns;
  readonly clock: Pick<Clock, 'monotonic'>;
}

function encodeObject(
  context: RequestContext,
  negotiated: Negotiated,
  object: JsonObject,
  encoding: Encoding,
): Buffer {
  const bytes = encodeAnswer(context, negotiated, object, encoding.protobuf);
  if (bytes === undefined) throw noSuchForm();
  return bytes;
}

const noSuchForm = (): StatusError => notAcceptable(Object.values(contentTypes));

/** The same, and how long it took for the audit log. */
function timed<T>(
  { audit }: RequestContext,
  { clock }: Encoding,
  layer: 'serialize-response-object' | 'transform-response-object',
  make: () => T,
): T {
  if (audit === undefined) return make();
  const began = clock.monotonic();
  const made = make();
  audit.took(layer, clock.monotonic() - began);
  return made;
}

/** Any object that is not the declaration's own. `table`: how it is shown as one. */
export function respondObject(
  context: RequestContext,
  status: number,
  object: JsonObject,
  encoding: Encoding,
  { endpoint = 'resource', table }: { readonly endpoint?: Endpoints; readonly table?: TableForm } = {},
): ApiResponse {
  const negotiated = negotiate(context.header('accept'), endpoint);
  const asTable = table !== undefined && negotiated.form === 'Table';
  const plain: Negotiated = { ...negotiated, form: 'object' };
  const shown = asTable
    ? tableOf(table, [object], tableOptions(context, negotiated, object, encoding.now()))
    : object;
  return bytesResponse(
    status,
    encodeObject(context, plain, shown, encoding),
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
    return respondObject(context, status, object, encoding, { endpoint: formsOf(declaration) });
  const negotiated = negotiate(context.header('accept'), formsOf(declaration));
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

/** One stored object. The bytes go out untouched when the client takes JSON; a large one is converted in turns. */
export function respondStored(
  context: RequestContext,
  status: number,
  value: Buffer,
  declaration: ResourceDeclaration,
  encoding: Encoding,
): ApiResponse | Promise<ApiResponse> {
  const negotiated = negotiate(context.header('accept'), formsOf(declaration));
  if (negotiated.mediaType === 'json' && negotiated.form === 'object' && !wantsPretty(context, negotiated))
    return bytesResponse(status, value);
  const shaped = (object: JsonObject): JsonObject =>
    timed(context, encoding, 'transform-response-object', () =>
      shape(context, negotiated, object, declaration, encoding.now()),
    );
  const encoded = (object: JsonObject): ApiResponse =>
    bytesResponse(
      status,
      timed(context, encoding, 'serialize-response-object', () =>
        encodeObject(context, negotiated, object, encoding),
      ),
      contentTypes[negotiated.mediaType],
    );
  if (value.length <= heavyBytes) return encoded(shaped(decodeEntry(value)));
  return (async () => {
    await encoding.turns.take();
    const object = decodeEntry(value);
    await encoding.turns.take();
    return encoded(shaped(object));
  })();
}

const otherForm = (message: string): StatusError => new StatusError(406, 'NotAcceptable', message);

/** The name of upstream's internal type. */
const goKind = ({ group, custom }: ResourceDeclaration, kind: string): string =>
  custom
    ? `unstructured.Unstructured${kind.endsWith('List') ? 'List' : ''}`
    : `${internalPackage(group)}.${kind}`;

const versionOf = (negotiated: Negotiated): 'meta.k8s.io/v1' | 'meta.k8s.io/v1beta1' =>
  `meta.k8s.io/${negotiated.formVersion}`;

/** As upstream, only who asks for a table is asked what goes with it. Throws 400. */
export const includeObjectOf = (context: RequestContext, { form }: Negotiated): IncludeObject =>
  form === 'Table' ? includeObjectFrom(context.query.get('includeObject')) : 'Metadata';

function tableOptions(
  context: RequestContext,
  negotiated: Negotiated,
  object: JsonObject,
  now: number,
): TableOptions {
  const metadata = object['metadata'] as JsonObject | undefined;
  return {
    now,
    includeObject: includeObjectOf(context, negotiated),
    version: versionOf(negotiated),
    metadata: { resourceVersion: metadata?.['resourceVersion'] ?? '' },
  };
}

function shape(
  context: RequestContext,
  negotiated: Negotiated,
  object: JsonObject,
  declaration: ResourceDeclaration,
  now: number,
): JsonObject {
  if (negotiated.form === 'Table')
    return tableOf(declaration, [object], tableOptions(context, negotiated, object, now));
  if (negotiated.form === 'object') return object;
  if (negotiated.form === 'PartialObjectMetadataList')
    throw otherForm(
      `you requested PartialObjectMetadataList, but the requested object is not a list (*${goKind(declaration, declaration.kind)})`,
    );
  return partialObjectMetadata(object, versionOf(negotiated));
}

export interface ListParts {
  readonly metadata: JsonObject;
  readonly values: readonly Buffer[];
  /** For kinds that are served in another version than they are stored in. */
  readonly decode?: (value: Buffer) => JsonObject;
}

/** A list: its head and the objects' bytes, in order. Converted at once when it is small, else while it is read. */
export async function respondList(
  context: RequestContext,
  list: ListParts,
  declaration: ResourceDeclaration,
  encoding: Encoding,
): Promise<ApiResponse> {
  const negotiated = negotiate(context.header('accept'), formsOf(declaration));
  const { decode = decodeEntry } = list;
  const asStored =
    list.decode === undefined && negotiated.mediaType === 'json' && negotiated.form === 'object';
  if (asStored && !wantsPretty(context, negotiated)) return bytesResponse(200, framedList(list, declaration));
  const now = encoding.now();
  const shaped = (objects: readonly JsonObject[]): JsonObject =>
    shapeList(context, negotiated, list.metadata, objects, declaration, now);
  if (
    list.decode === undefined &&
    negotiated.mediaType === 'json' &&
    negotiated.form === 'PartialObjectMetadataList' &&
    !wantsPretty(context, negotiated)
  )
    return metadataList(shaped([]), list.values, versionOf(negotiated), encoding);
  if (sizeOf(list.values) <= heavyBytes)
    return bytesResponse(
      200,
      encodeObject(context, negotiated, shaped(list.values.map((value) => decode(value))), encoding),
      contentTypes[negotiated.mediaType],
    );
  const key = negotiated.form === 'Table' ? 'rows' : 'items';
  const shell = shaped([]);
  const shape = (value: Buffer): JsonObject => objs(shaped([decode(value)])[key])[0]!;
  const { values } = list;
  const { turns } = encoding;
  const monotonic = (): number => encoding.clock.monotonic();
  const writer =
    negotiated.mediaType === 'yaml'
      ? yamlList(shell, key)
      : negotiated.mediaType === 'protobuf'
        ? await measuredList(encoding.protobuf, shell, key, { values, shape, turns, monotonic })
        : wantsPretty(context, negotiated)
          ? prettyList(shell)
          : jsonList(shell);
  const item = (value: Buffer): Buffer => writer.item(shape(value));
  const body = new ConvertedBody({ values, item, writer, turns, monotonic });
  return bytesResponse(200, body, contentTypes[negotiated.mediaType]);
}

/** Cut out of the stored bytes: whoever asks for metadata alone asks for all objects of all kinds. */
function metadataList(
  shell: JsonObject,
  values: readonly Buffer[],
  version: string,
  { turns, clock }: Encoding,
): ApiResponse {
  const writer = jsonList(shell);
  const head = Buffer.from(
    `{"kind":"PartialObjectMetadata","apiVersion":${JSON.stringify(version)},"metadata":`,
  );
  const item = (value: Buffer): Buffer => {
    const metadata =
      storedMetadata(value) ?? Buffer.from(JSON.stringify(decodeEntry(value)['metadata'] ?? {}));
    return Buffer.concat([head, metadata, itemEnd]);
  };
  if (sizeOf(values) > heavyBytes)
    return bytesResponse(
      200,
      new ConvertedBody({ values, item, writer, turns, monotonic: () => clock.monotonic() }),
    );
  const items = values.flatMap((value, i) => (i === 0 ? [item(value)] : [comma, item(value)]));
  return bytesResponse(200, Buffer.concat([writer.head, ...items, writer.tail]));
}

interface Shaping extends Omit<Conversion, 'writer' | 'item'> {
  shape(value: Buffer): JsonObject;
}

/** The length of a protobuf list stands before it: everything is encoded once to know it, and given up again. */
async function measuredList(
  codec: ProtobufCodec | undefined,
  shell: JsonObject,
  key: string,
  { values, shape, turns, monotonic }: Shaping,
): Promise<ListWriter> {
  try {
    const parts = codec?.list(shell, key);
    if (parts === undefined) throw noSuchForm();
    const item = (object: JsonObject): Buffer => bufferOf(parts.item(object));
    let size = 0;
    await turns.take();
    const slice = new Slice(turns, monotonic);
    for (const value of values) {
      if (slice.over) await slice.next();
      size += item(shape(value)).length;
    }
    return { head: bufferOf(parts.head(size)), item, separator: Buffer.alloc(0), tail: bufferOf(parts.tail) };
  } catch (error) {
    throw error instanceof NoProtobufForm ? noSuchForm() : error;
  }
}

const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const sizeOf = (values: readonly Buffer[]): number => values.reduce((sum, value) => sum + value.length, 0);

const comma = Buffer.from(',');
const itemEnd = Buffer.from('}');
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
      includeObject: includeObjectOf(context, negotiated),
      version,
      metadata,
    });
  if (negotiated.form === 'PartialObjectMetadata')
    throw otherForm(
      `you requested PartialObjectMetadata, but the requested object is a list (*${goKind(declaration, declaration.listKind)})`,
    );
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
