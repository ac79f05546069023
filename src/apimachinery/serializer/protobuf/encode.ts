// JSON objects to protobuf messages, as the plan of their type says.
import type { Json, JsonObject } from '../../declaration.ts';
import { isObject } from '../../json-access.ts';
import type { PlanNode, PlanSource, StructPlan } from '../../plan.ts';
import { base64ToBytes } from './base64.ts';
import type { MessagePlan } from './message-plan.ts';
import { messagePlan, structOf } from './message-plan.ts';
import type { ProtoWriter } from './writer.ts';
import { createProtoWriter } from './writer.ts';

const text = new TextEncoder();

/** The kind is served in other media types only. */
export class NoProtobufForm extends Error {
  constructor(what: string) {
    super(`no protobuf form of ${what}`);
  }
}

/** One object's message, without an envelope. */
export function encodeMessage(plans: PlanSource, type: string, object: JsonObject): Uint8Array {
  const struct = structOf(plans, type);
  if (!struct) throw new NoProtobufForm(type);
  const encoder = createEncoder(plans);
  encoder.struct(struct, object);
  return encoder.writer.finish();
}

function createEncoder(plans: PlanSource): {
  readonly writer: ProtoWriter;
  struct(struct: StructPlan, o: JsonObject): void;
} {
  const w = createProtoWriter();
  const struct = (plan: StructPlan, object: JsonObject): void => fields(messagePlan(plan), object);
  const fields = (plan: MessagePlan, object: JsonObject): void => {
    for (const field of plan.fields) {
      const value = Object.hasOwn(object, field.name) ? object[field.name] : undefined;
      if (value !== undefined && value !== null) put(field.number, field.node, value);
    }
    for (const [number, inner] of plan.embedded) {
      w.tag(number, 2);
      w.message(() => fields(inner, object));
    }
  };
  const put = (number: number, node: PlanNode, value: Json): void => {
    switch (node.kind) {
      case 'array':
        if (Array.isArray(value)) for (const item of value) if (item !== null) put(number, node.items, item);
        return;
      case 'map':
        if (isObject(value))
          for (const [key, item] of Object.entries(value)) entry(number, key, node.values, item);
        return;
      case 'scalar':
        if (node.scalar === 'string') {
          w.tag(number, 2);
          w.string(String(value));
        } else if (node.scalar === 'float64') {
          w.tag(number, 1);
          w.double(Number(value));
        } else {
          w.tag(number, 0);
          w.varint(typeof value === 'bigint' ? value : Number(value));
        }
        return;
      case 'bytes':
        w.tag(number, 2);
        w.bytes(base64ToBytes(String(value)));
        return;
      case 'struct':
        w.tag(number, 2);
        w.message(() => {
          if (isObject(value)) struct(node, value);
        });
        return;
      case 'special':
        w.tag(number, 2);
        w.message(() => special(node, value));
        return;
      default:
        return;
    }
  };
  const entry = (number: number, key: string, values: PlanNode, item: Json | undefined): void => {
    w.tag(number, 2);
    w.message(() => {
      w.tag(1, 2);
      w.string(key);
      if (item === undefined || item === null) return;
      // A list inside a map is a message of its own (ExtraValue).
      if (values.kind === 'array') {
        w.tag(2, 2);
        w.message(() => put(1, values, item));
      } else put(2, values, item);
    });
  };
  const special = (node: PlanNode & { kind: 'special' }, value: Json): void => {
    const shortName = node.type.slice(node.type.lastIndexOf('.') + 1);
    switch (node.special) {
      case 'quantity':
        w.tag(1, 2);
        w.string(String(value));
        return;
      case 'time':
      case 'microTime':
        time(String(value));
        return;
      case 'intOrString':
        w.tag(1, 0);
        w.varint(typeof value === 'string' ? 1 : 0);
        w.tag(2, 0);
        w.varint(typeof value === 'number' ? value : 0);
        w.tag(3, 2);
        w.string(typeof value === 'string' ? value : '');
        return;
      case 'json':
        if (shortName.startsWith('JSONSchemaPropsOr')) {
          schemaChoice(node.type, shortName, value);
          return;
        }
        raw(value);
        return;
      default:
        raw(value);
    }
  };
  const raw = (value: Json): void => {
    w.tag(1, 2);
    w.bytes(text.encode(JSON.stringify(value)));
  };
  const time = (value: string): void => {
    const ms = Date.parse(value);
    if (Number.isNaN(ms)) return;
    const seconds = Math.floor(ms / 1000);
    const fraction = (/\.(\d+)/.exec(value)?.[1] ?? '').padEnd(9, '0').slice(0, 9);
    w.tag(1, 0);
    w.varint(seconds);
    w.tag(2, 0);
    w.varint(Number(fraction));
  };
  /** JSONSchemaPropsOrArray, OrBool and OrStringArray. */
  const schemaChoice = (type: string, shortName: string, value: Json): void => {
    const schema = structOf(plans, `${type.slice(0, type.lastIndexOf('.') + 1)}JSONSchemaProps`);
    if (!schema) return;
    const one = (number: number, s: Json): void => put(number, schema, s);
    if (Array.isArray(value)) {
      for (const item of value)
        if (shortName === 'JSONSchemaPropsOrArray') one(2, item);
        else {
          w.tag(2, 2);
          w.string(String(item));
        }
    } else if (typeof value === 'boolean') {
      w.tag(1, 0);
      w.varint(Number(value));
    } else if (shortName === 'JSONSchemaPropsOrBool') {
      w.tag(1, 0);
      w.varint(1);
      one(2, value);
    } else one(1, value);
  };
  return { writer: w, struct };
}
