// JSON objects to protobuf messages, as the plan of their type says.
import { readGoDuration } from '../../../base/go-duration.ts';
import { htmlSafeJson } from '../../../base/html-safe-json.ts';
import type { Json, JsonObject } from '../../declaration.ts';
import { isObject } from '../../json-access.ts';
import type { PlanNode, PlanSource, StructPlan } from '../../plan.ts';
import { base64ToBytes } from './base64.ts';
import type { MessagePlan } from './message-plan.ts';
import { messagePlan, structOf } from './message-plan.ts';
import { ProtoWriter } from './writer.ts';

const text = new TextEncoder();

/** The kind is served in other media types only. */
export class NoProtobufForm extends Error {
  constructor(what: string) {
    super(`no protobuf form of ${what}`);
  }
}

/** Of a duration as Go writes it; of what is none, none. */
function nanosecondsOf(duration: string): number {
  const ms = readGoDuration(duration);
  return typeof ms === 'number' ? Math.round(ms * 1e6) : 0;
}

/** One object's message, without an envelope. */
export function encodeMessage(plans: PlanSource, type: string, object: JsonObject): Uint8Array {
  const struct = structOf(plans, type);
  if (!struct) throw new NoProtobufForm(type);
  const encoder = new Encoder(plans);
  encoder.struct(struct, object);
  return encoder.writer.finish();
}

class Encoder {
  readonly writer = new ProtoWriter();
  readonly #plans: PlanSource;

  constructor(plans: PlanSource) {
    this.#plans = plans;
  }

  struct(plan: StructPlan, object: JsonObject): void {
    this.#fields(messagePlan(plan), object);
  }

  #fields(plan: MessagePlan, object: JsonObject): void {
    for (const field of plan.fields) {
      const value = Object.hasOwn(object, field.name) ? object[field.name] : undefined;
      if (value !== undefined && value !== null) this.#put(field.number, field.node, value);
    }
    for (const [number, inner] of plan.embedded) {
      this.writer.tag(number, 2);
      this.writer.message(() => this.#fields(inner, object));
    }
  }

  #put(number: number, node: PlanNode, value: Json): void {
    switch (node.kind) {
      case 'array':
        if (Array.isArray(value))
          for (const item of value) if (item !== null) this.#put(number, node.items, item);
        return;
      case 'map':
        if (isObject(value))
          for (const [key, item] of Object.entries(value)) this.#entry(number, key, node.values, item);
        return;
      case 'scalar':
        if (node.scalar === 'string') {
          this.writer.tag(number, 2);
          this.writer.string(String(value));
        } else if (node.scalar === 'float64') {
          this.writer.tag(number, 1);
          this.writer.double(Number(value));
        } else {
          this.writer.tag(number, 0);
          this.writer.varint(typeof value === 'bigint' ? value : Number(value));
        }
        return;
      case 'bytes':
        this.writer.tag(number, 2);
        this.writer.bytes(base64ToBytes(String(value)));
        return;
      case 'struct':
        this.writer.tag(number, 2);
        this.writer.message(() => {
          if (isObject(value)) this.struct(node, value);
        });
        return;
      case 'special':
        this.writer.tag(number, 2);
        this.writer.message(() => this.#special(node, value));
        return;
      default:
        return;
    }
  }

  #entry(number: number, key: string, values: PlanNode, item: Json | undefined): void {
    this.writer.tag(number, 2);
    this.writer.message(() => {
      this.writer.tag(1, 2);
      this.writer.string(key);
      if (item === undefined || item === null) return;
      // A list inside a map is a message of its own (ExtraValue).
      if (values.kind === 'array') {
        this.writer.tag(2, 2);
        this.writer.message(() => this.#put(1, values, item));
      } else this.#put(2, values, item);
    });
  }

  #special(node: PlanNode & { kind: 'special' }, value: Json): void {
    const shortName = node.type.slice(node.type.lastIndexOf('.') + 1);
    switch (node.special) {
      case 'quantity':
        this.writer.tag(1, 2);
        this.writer.string(String(value));
        return;
      case 'time':
      case 'microTime':
        this.#time(String(value));
        return;
      case 'duration':
        this.writer.tag(1, 0);
        this.writer.varint(nanosecondsOf(String(value)));
        return;
      case 'intOrString':
        this.writer.tag(1, 0);
        this.writer.varint(typeof value === 'string' ? 1 : 0);
        this.writer.tag(2, 0);
        this.writer.varint(typeof value === 'number' ? value : 0);
        this.writer.tag(3, 2);
        this.writer.string(typeof value === 'string' ? value : '');
        return;
      case 'json':
        if (shortName.startsWith('JSONSchemaPropsOr')) {
          this.#schemaChoice(node.type, shortName, value);
          return;
        }
        this.#raw(JSON.stringify(value));
        return;
      case 'rawExtension':
        // As the client in Go wrote it that most probably sent it, and compares it with what it would write now.
        this.#raw(htmlSafeJson(value));
        return;
      default:
        this.#raw(JSON.stringify(value));
    }
  }

  #raw(json: string): void {
    this.writer.tag(1, 2);
    this.writer.bytes(text.encode(json));
  }

  #time(value: string): void {
    const ms = Date.parse(value);
    if (Number.isNaN(ms)) return;
    const seconds = Math.floor(ms / 1000);
    const fraction = (/\.(\d+)/.exec(value)?.[1] ?? '').padEnd(9, '0').slice(0, 9);
    this.writer.tag(1, 0);
    this.writer.varint(seconds);
    this.writer.tag(2, 0);
    this.writer.varint(Number(fraction));
  }

  /** JSONSchemaPropsOrArray, OrBool and OrStringArray. */
  #schemaChoice(type: string, shortName: string, value: Json): void {
    const schema = structOf(this.#plans, `${type.slice(0, type.lastIndexOf('.') + 1)}JSONSchemaProps`);
    if (!schema) return;
    const one = (number: number, s: Json): void => this.#put(number, schema, s);
    if (Array.isArray(value)) {
      for (const item of value)
        if (shortName === 'JSONSchemaPropsOrArray') one(2, item);
        else {
          this.writer.tag(2, 2);
          this.writer.string(String(item));
        }
    } else if (typeof value === 'boolean') {
      this.writer.tag(1, 0);
      this.writer.varint(Number(value));
    } else if (shortName === 'JSONSchemaPropsOrBool') {
      this.writer.tag(1, 0);
      this.writer.varint(1);
      one(2, value);
    } else one(1, value);
  }
}
