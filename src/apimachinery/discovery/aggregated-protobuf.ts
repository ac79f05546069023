// Aggregated discovery as protobuf: its types are of no API group that is served, so their numbers stand here.
import type { JsonObject } from '../declaration.ts';
import { isObject } from '../json-access.ts';
import { inEnvelope } from '../serializer/protobuf/envelope.ts';
import { ProtoWriter } from '../serializer/protobuf/writer.ts';

/** Fields by name: their number, and the message that they hold if they are no text. */
type Message = Readonly<Record<string, readonly [number: number, message?: Message]>>;

const kind: Message = { group: [1], version: [2], kind: [3] };
const subresource: Message = {
  subresource: [1],
  responseKind: [2, kind],
  acceptedTypes: [3, kind],
  verbs: [4],
};
const resource: Message = {
  resource: [1],
  responseKind: [2, kind],
  scope: [3],
  singularResource: [4],
  verbs: [5],
  shortNames: [6],
  categories: [7],
  subresources: [8, subresource],
};
const version: Message = { version: [1], resources: [2, resource], freshness: [3] };
const group: Message = { metadata: [1, { name: [1] }], versions: [2, version] };
const list: Message = { metadata: [1, {}], items: [2, group] };

export function encodeAggregated(document: JsonObject): Uint8Array {
  const writer = new ProtoWriter();
  write(writer, list, document);
  return inEnvelope(String(document['apiVersion']), String(document['kind']), writer.finish());
}

function write(writer: ProtoWriter, message: Message, object: JsonObject): void {
  for (const [name, [number, inner]] of Object.entries(message)) {
    const value = object[name];
    for (const one of Array.isArray(value) ? value : value === undefined ? [] : [value]) {
      if (inner !== undefined && isObject(one)) {
        writer.tag(number, 2);
        writer.message(() => write(writer, inner, one));
      } else if (inner === undefined && typeof one === 'string') {
        writer.tag(number, 2);
        writer.string(one);
      }
    }
  }
}
