// What goes over the wire as application/vnd.kubernetes.protobuf: `k8s\0`, then runtime.Unknown around the message.
import type { JsonObject, Scheme } from '../../declaration.ts';
import { str } from '../../json-access.ts';
import { DecodeError } from '../../schema-errors.ts';
import { decodeMessage } from './decode.ts';
import { encodeMessage, NoProtobufForm } from './encode.ts';
import { ProtoReader } from './reader.ts';
import { ProtoWriter } from './writer.ts';

const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0);

const splitApiVersion = (apiVersion: string): { group: string; version: string } => {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
};

/** A whole object with kind and apiVersion, in its envelope. Throws when the kind has no protobuf form. */
export function encodeProtobuf(scheme: Scheme, object: JsonObject): Uint8Array {
  const apiVersion = str(object['apiVersion']);
  const kind = str(object['kind']);
  // Discovery of the core group says no version, and is of the one that there is.
  const type = scheme.typeOf({ ...splitApiVersion(apiVersion === '' ? 'v1' : apiVersion), kind });
  if (type === undefined) throw new NoProtobufForm(`${apiVersion}, Kind=${kind}`);
  return inEnvelope(apiVersion, kind, encodeMessage(scheme.plans, type, object));
}

/** A message of a kind as it goes over the wire. */
export function inEnvelope(apiVersion: string, kind: string, message: Uint8Array): Uint8Array {
  const open = openEnvelope(apiVersion, kind, message.length);
  const out = new Uint8Array(open.length + message.length + endOfEnvelope.length);
  out.set(open);
  out.set(message, open.length);
  out.set(endOfEnvelope, open.length + message.length);
  return out;
}

/** What stands before the message of a kind: a length of `size` bytes is promised. */
function openEnvelope(apiVersion: string, kind: string, size: number): Uint8Array {
  const w = new ProtoWriter();
  w.tag(1, 2);
  w.message(() => {
    w.tag(1, 2);
    w.string(apiVersion);
    w.tag(2, 2);
    w.string(kind);
  });
  w.tag(2, 2);
  w.varint(size);
  const body = w.finish();
  const out = new Uint8Array(magic.length + body.length);
  out.set(magic);
  out.set(body, magic.length);
  return out;
}
/** contentEncoding and contentType, both empty. */
const endOfEnvelope = Uint8Array.of(0x1a, 0, 0x22, 0);

export interface ProtobufListParts {
  /** Before the items, when these take `size` bytes together. */
  head(size: number): Uint8Array;
  /** One object as an element of the list. */
  item(object: JsonObject): Uint8Array;
  readonly tail: Uint8Array;
}

/** A list in pieces: messages that stand one behind the other are one message. Throws as encodeProtobuf. */
export function protobufList(scheme: Scheme, shell: JsonObject, key: string): ProtobufListParts {
  const apiVersion = str(shell['apiVersion']);
  const kind = str(shell['kind']);
  const type = scheme.typeOf({ ...splitApiVersion(apiVersion), kind });
  if (type === undefined) throw new NoProtobufForm(`${apiVersion}, Kind=${kind}`);
  const first = encodeMessage(scheme.plans, type, shell);
  return {
    head(size) {
      const open = openEnvelope(apiVersion, kind, first.length + size);
      const out = new Uint8Array(open.length + first.length);
      out.set(open);
      out.set(first, open.length);
      return out;
    },
    item: (object) => encodeMessage(scheme.plans, type, { [key]: [object] }),
    tail: endOfEnvelope,
  };
}

/** What an envelope is to hold: the kind that is meant when it names none. */
export interface ExpectedKind {
  readonly apiVersion: string;
  readonly kind: string;
  /** Of the group: those that have the same form. */
  readonly otherVersions?: readonly string[] | undefined;
}

/** A type that there is, or that of the expected kind in a version which has its form. */
function typeIn(
  scheme: Scheme,
  apiVersion: string,
  kind: string,
  expected: ExpectedKind | undefined,
): string | undefined {
  const { group, version } = splitApiVersion(apiVersion);
  const type = scheme.typeOf({ group, version, kind });
  if (type !== undefined || kind !== expected?.kind) return type;
  const own = splitApiVersion(expected.apiVersion);
  const isOther = own.group === group && expected.otherVersions?.includes(version) === true;
  return isOther ? scheme.typeOf({ ...own, kind }) : undefined;
}

/** Reads an envelope. Throws DecodeError, and StatusError for what no JSON can say. */
export function decodeProtobuf(scheme: Scheme, bytes: Uint8Array, expected?: ExpectedKind): JsonObject {
  if (bytes.length < 4 || !magic.every((b, i) => bytes[i] === b))
    throw new DecodeError(
      'provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]',
    );
  const reader = new ProtoReader(bytes, 4);
  let apiVersion = '';
  let kind = '';
  let raw: Uint8Array = new Uint8Array();
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (number === 1 && wireType === 2) {
      const inner = reader.message();
      while (!inner.done) {
        const field = inner.tag();
        if (field.number === 1 && field.wireType === 2) apiVersion = inner.string();
        else if (field.number === 2 && field.wireType === 2) kind = inner.string();
        else inner.skip(field.wireType);
      }
    } else if (number === 2 && wireType === 2) raw = reader.bytes();
    else reader.skip(wireType);
  }
  if (kind === '') kind = expected?.kind ?? '';
  if (apiVersion === '') apiVersion = expected?.apiVersion ?? '';
  const type = typeIn(scheme, apiVersion, kind, expected);
  if (type === undefined)
    throw new DecodeError(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  return { kind, apiVersion, ...decodeMessage(scheme.plans, type, raw) };
}

/** One event of a watch stream: four bytes of length, then a WatchEvent whose object is in its own envelope. */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const w = new ProtoWriter();
  w.tag(1, 2);
  w.string(type);
  w.tag(2, 2);
  w.message(() => {
    w.tag(1, 2);
    w.bytes(object);
  });
  const body = w.finish();
  const out = new Uint8Array(4 + body.length);
  new DataView(out.buffer).setUint32(0, body.length);
  out.set(body, 4);
  return out;
}
