// Protobuf messages to JSON objects, as the plan of their type says. Fields the type lacks are passed over.
import { formatGoDuration } from '../../../base/go-duration.ts';
import { StatusError } from '../../errors.ts';
import { isZeroScalar, type Json, type JsonObject } from '../../json.ts';
import { definitionBounds, maxJsonDepth } from '../../object-bounds.ts';
import type { PlanNode, PlanSource, StructPlan } from '../../plan.ts';
import { DecodeError } from '../../schema-errors.ts';
import { parseJsonText } from '../json-text.ts';
import { bytesToBase64 } from './base64.ts';
import type { MessageField, MessagePlan } from './message-plan.ts';
import { messagePlan, structOf } from './message-plan.ts';
import { ProtoReader } from './reader.ts';

const maxDepth = 200;
const text = new TextDecoder();

export function decodeMessage(plans: PlanSource, type: string, bytes: Uint8Array): JsonObject {
  const struct = structOf(plans, type);
  if (!struct) throw new DecodeError(`no protobuf form of ${type}`);
  const object: JsonObject = {};
  readFields(plans, messagePlan(struct), new ProtoReader(bytes), object, 0);
  return object;
}

function readStruct(plans: PlanSource, struct: StructPlan, reader: ProtoReader, depth: number): JsonObject {
  const object: JsonObject = {};
  readFields(plans, messagePlan(struct), reader, object, depth);
  return object;
}

function readFields(
  plans: PlanSource,
  plan: MessagePlan,
  reader: ProtoReader,
  into: JsonObject,
  depth: number,
): void {
  if (depth > maxDepth) throw new DecodeError('proto: nested too deep');
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    const field = plan.byNumber.get(number);
    if (field) readField(plans, field, wireType, reader, into, depth);
    else {
      const inner = plan.embedded.get(number);
      if (inner && wireType === 2) readFields(plans, inner, reader.message(), into, depth + 1);
      else reader.skip(wireType);
    }
  }
}

function readField(
  plans: PlanSource,
  field: MessageField,
  wireType: number,
  reader: ProtoReader,
  into: JsonObject,
  depth: number,
): void {
  const { name, node } = field;
  if (node.kind === 'array') {
    into[name] ??= [];
    const list = into[name] as Json[];
    // Numbers may come packed.
    if (wireType === 2 && node.items.kind === 'scalar' && node.items.scalar !== 'string') {
      const packed = reader.message();
      while (!packed.done) list.push(readValue(plans, node.items, packed, depth) ?? null);
    } else list.push(readValue(plans, node.items, reader, depth, wireType) ?? null);
    return;
  }
  if (node.kind === 'map') {
    into[name] ??= {};
    const map = into[name] as JsonObject;
    readEntry(plans, node.values, reader.message(), map, depth);
    return;
  }
  const value = readValue(plans, node, reader, depth, wireType);
  // Go writes what is nought also of fields that JSON leaves out then.
  if (value === undefined || (field.omitsZero && isZeroScalar(value))) delete into[name];
  else into[name] = value;
}

function readEntry(
  plans: PlanSource,
  values: PlanNode,
  reader: ProtoReader,
  map: JsonObject,
  depth: number,
): void {
  let key = '';
  let value: Json | undefined;
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (number === 1 && wireType === 2) key = reader.string();
    else if (number === 2 && values.kind === 'array') {
      const list: Json[] = [];
      const inner = reader.message();
      while (!inner.done) {
        inner.tag();
        list.push(readValue(plans, values.items, inner, depth) ?? null);
      }
      value = list;
    } else if (number === 2) value = readValue(plans, values, reader, depth, wireType);
    else reader.skip(wireType);
  }
  const empty =
    values.kind === 'scalar' || values.kind === 'bytes' ? '' : values.kind === 'special' ? '0' : {};
  Object.defineProperty(map, key, {
    value: value ?? empty,
    enumerable: true,
    writable: true,
    configurable: true,
  });
}

const wireOf = (node: PlanNode): number =>
  node.kind === 'scalar' && node.scalar !== 'string' ? (node.scalar === 'float64' ? 1 : 0) : 2;

/** What has numbers of this sort is stored as JSON, where upstream's encoder fails: it is a 500 there, and no fault of the body. */
function finite(value: number): number {
  if (Number.isFinite(value)) return value;
  const name = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  throw new StatusError(500, '', `json: unsupported value: ${name}`);
}

function readValue(
  plans: PlanSource,
  node: PlanNode,
  reader: ProtoReader,
  depth: number,
  wireType = wireOf(node),
): Json | undefined {
  if (wireType !== wireOf(node)) throw new DecodeError(`proto: wrong wireType = ${wireType} for field`);
  switch (node.kind) {
    case 'scalar':
      if (node.scalar === 'string') return reader.string();
      if (node.scalar === 'float64') return finite(reader.double());
      return node.scalar === 'bool' ? reader.varint() !== 0 : reader.int64();
    case 'bytes':
      return bytesToBase64(reader.bytes());
    case 'struct':
      return readStruct(plans, node, reader.message(), depth + 1);
    case 'special':
      return readSpecial(plans, node, reader.message(), depth + 1);
    default:
      reader.skip(2);
      return undefined;
  }
}

function readSpecial(
  plans: PlanSource,
  node: PlanNode & { kind: 'special' },
  reader: ProtoReader,
  depth: number,
): Json | undefined {
  const parts = collect(reader);
  const bytesAt = (n: number): Uint8Array | undefined => parts.bytes.get(n)?.[0];
  switch (node.special) {
    case 'quantity':
      return text.decode(bytesAt(1) ?? new Uint8Array()) || '0';
    case 'time':
    case 'microTime': {
      const seconds = parts.numbers.get(1);
      const nanos = parts.numbers.get(2) ?? 0;
      if (seconds === undefined && nanos === 0) return undefined;
      const ms = (seconds ?? 0) * 1000;
      if (!Number.isFinite(ms) || Math.abs(ms) > 8.64e15) throw new DecodeError('proto: time out of range');
      const whole = new Date(ms).toISOString().slice(0, 19);
      return node.special === 'time'
        ? `${whole}Z`
        : `${whole}.${String(Math.floor(nanos / 1000)).padStart(6, '0')}Z`;
    }
    case 'duration':
      return formatGoDuration((parts.numbers.get(1) ?? 0) / 1e6);
    case 'intOrString':
      return parts.numbers.get(1) === 1
        ? text.decode(bytesAt(3) ?? new Uint8Array())
        : (parts.numbers.get(2) ?? 0);
    default:
      return node.special === 'json' && node.type.includes('JSONSchemaPropsOr')
        ? readSchemaChoice(plans, node.type, parts, depth)
        : parseRaw(bytesAt(1), depth);
  }
}

interface Parts {
  readonly numbers: ReadonlyMap<number, number>;
  readonly bytes: ReadonlyMap<number, readonly Uint8Array[]>;
}
function collect(reader: ProtoReader): Parts {
  const numbers = new Map<number, number>();
  const bytes = new Map<number, Uint8Array[]>();
  while (!reader.done) {
    const { number, wireType } = reader.tag();
    if (wireType === 0) numbers.set(number, reader.varint());
    else if (wireType === 2) {
      const known = bytes.get(number);
      if (known === undefined) bytes.set(number, [reader.bytes()]);
      else known.push(reader.bytes());
    } else reader.skip(wireType);
  }
  return { numbers, bytes };
}

/** JSON within a message, at most as deep as the same object as a JSON body: each message is an object in a list or a map at most. */
function parseRaw(bytes: Uint8Array | undefined, depth: number): Json | undefined {
  if (!bytes || bytes.length === 0) return undefined;
  const maxDepth = maxJsonDepth - 2 * (depth + 1);
  try {
    return parseJsonText(text.decode(bytes), definitionBounds, maxDepth).value;
  } catch (error) {
    if (error instanceof DecodeError && error.message === 'exceeded max depth') throw error;
    if (error instanceof DecodeError) throw new DecodeError('raw value is not JSON');
    throw error;
  }
}

function readSchemaChoice(plans: PlanSource, type: string, parts: Parts, depth: number): Json | undefined {
  const schema = structOf(plans, `${type.slice(0, type.lastIndexOf('.') + 1)}JSONSchemaProps`);
  if (!schema) return undefined;
  const one = (bytes: Uint8Array): JsonObject => readStruct(plans, schema, new ProtoReader(bytes), depth + 1);
  const first = parts.bytes.get(1)?.[0];
  const second = parts.bytes.get(2);
  if (type.endsWith('OrBool')) return second?.[0] ? one(second[0]) : parts.numbers.get(1) === 1;
  if (type.endsWith('OrStringArray')) return first ? one(first) : (second ?? []).map((b) => text.decode(b));
  return first ? one(first) : (second ?? []).map(one);
}
