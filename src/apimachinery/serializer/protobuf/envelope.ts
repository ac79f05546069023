// What goes over the wire as application/vnd.kubernetes.protobuf: `k8s\0`, then runtime.Unknown around the message.
import type { JsonObject, Scheme } from '../../declaration.ts';
import { str } from '../../json-access.ts';
import { DecodeError } from '../../schema-errors.ts';
import { decodeMessage } from './decode.ts';
import { encodeMessage } from './encode.ts';
import { ProtoReader } from './reader.ts';
import { createProtoWriter } from './writer.ts';

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
  const type = scheme.typeOf({ ...splitApiVersion(apiVersion), kind });
  if (type === undefined) throw new Error(`no protobuf form of ${apiVersion}, Kind=${kind}`);
  const w = createProtoWriter();
  w.tag(1, 2);
  w.message(() => {
    w.tag(1, 2);
    w.string(apiVersion);
    w.tag(2, 2);
    w.string(kind);
  });
  w.tag(2, 2);
  w.bytes(encodeMessage(scheme.plans, type, object));
  w.tag(3, 2);
  w.string('');
  w.tag(4, 2);
  w.string('');
  const body = w.finish();
  const out = new Uint8Array(magic.length + body.length);
  out.set(magic);
  out.set(body, magic.length);
  return out;
}

/** Reads an envelope. Throws DecodeError. `fallback` is the kind expected when the envelope names none. */
export function decodeProtobuf(
  scheme: Scheme,
  bytes: Uint8Array,
  fallback?: { readonly apiVersion: string; readonly kind: string },
): JsonObject {
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
  if (kind === '') kind = fallback?.kind ?? '';
  if (apiVersion === '') apiVersion = fallback?.apiVersion ?? '';
  const type = scheme.typeOf({ ...splitApiVersion(apiVersion), kind });
  if (type === undefined)
    throw new DecodeError(
      `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)}`,
    );
  return { kind, apiVersion, ...decodeMessage(scheme.plans, type, raw) };
}

/** One event of a watch stream: four bytes of length, then a WatchEvent whose object is in its own envelope. */
export function encodeWatchFrame(type: string, object: Uint8Array): Uint8Array {
  const w = createProtoWriter();
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
