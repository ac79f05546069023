// Reads a JSON value as a type of the schema, in place: types are checked, nulls and unknown fields dropped, static defaults set.

import { shownPath } from '../base/shown-path.ts';
import { canonicalMicroTime, canonicalQuantity, canonicalTime } from './canonical-scalars.ts';
import { isZeroScalar, type Json, type JsonObject } from './json.ts';
import type { PlanNode, PlanSource, ScalarType, StructPlan } from './plan.ts';
import { cannotUnmarshal, DecodeError, goValueName } from './schema-errors.ts';
import { goTypeName } from './schema-plan.ts';
import { isInt64 } from './serializer/json-numbers.ts';

export interface DecodeResult {
  /** Paths of the fields that the type does not have, `spec.containers[0].foo`, in the order they came. */
  readonly unknownFields: readonly string[];
}

interface Walk {
  /** Keys from the root, as Go's errors join them (no indices). */
  readonly path: string[];
  struct: string;
  readonly unknown: string[];
  /** Path with indices, for unknown fields. */
  readonly place: string[];
}

const maxUnknownFields = 100;

/**
 * Decodes `object` as `type` in place. Throws DecodeError with Go's text when a value has another type.
 * Static defaults of the schema are set unless `defaults` is false.
 */
export function decodeObject(
  plans: PlanSource,
  type: string,
  object: JsonObject,
  options: { readonly defaults?: boolean } = {},
): DecodeResult {
  const plan = plans.plan(type);
  if (plan?.kind === 'own') return { unknownFields: plan.decode(object) };
  if (plan?.kind !== 'struct') return { unknownFields: [] };
  const walk: Walk = { path: [], struct: '', unknown: [], place: [] };
  decodeStruct(plan, object, walk, options.defaults !== false);
  return { unknownFields: walk.unknown };
}

function decodeStruct(plan: StructPlan, object: JsonObject, walk: Walk, defaults: boolean): void {
  const outer = walk.struct;
  walk.struct = plan.goName;
  for (const key of Object.keys(object)) {
    const field = plan.fields.get(key);
    if (!field) {
      if (walk.unknown.length < maxUnknownFields) walk.unknown.push(shownPath(placeOf(walk, key)));
      delete object[key];
      continue;
    }
    const value = object[key];
    if (value === null || value === undefined) {
      if (field.node.kind !== 'special' || field.node.special !== 'json') delete object[key];
      continue;
    }
    walk.path.push(key);
    walk.place.push(walk.place.length === 0 ? key : `.${key}`);
    const node = field.node;
    if (node.kind === 'struct') {
      if (typeof value !== 'object' || Array.isArray(value)) throw mismatch(node, value, walk);
      decodeStruct(node, value, walk, defaults);
    } else {
      const next = decodeValue(node, value, walk, defaults);
      if (
        next === undefined ||
        (field.omitsZero
          ? isZeroScalar(next)
          : (!field.required || field.schema.servesNull === true) &&
            isEmptyCollection(node, next) &&
            !isReset(walk.path))
      )
        delete object[key];
      else if (next !== value) object[key] = next;
    }
    walk.path.pop();
    walk.place.pop();
  }
  walk.struct = outer;
  if (defaults) setDefaults(plan, object);
}

/** Go drops empty lists and maps that are `omitempty`, and those that come back as null; the ones it keeps are required. */
const isEmptyCollection = (node: PlanNode, value: Json): boolean =>
  (node.kind === 'array' && Array.isArray(value) && value.length === 0) ||
  (node.kind === 'map' && typeof value === 'object' && value !== null && isEmpty(value as JsonObject));

/** An object whose list of owners is empty asks for nobody to be one: that is another wish than none. */
const isReset = (path: readonly string[]): boolean =>
  path.length === 2 && path[0] === 'metadata' && path[1] === 'managedFields';

function isEmpty(object: JsonObject): boolean {
  for (const _ in object) return false;
  return true;
}

/** Sets the top fields' static defaults that are missing: `status: {}` and the like. */
export function staticDefaults(plans: PlanSource, type: string, object: JsonObject): void {
  const plan = plans.plan(type);
  if (plan?.kind === 'struct') setDefaults(plan, object);
}

function setDefaults(plan: StructPlan, object: JsonObject): void {
  for (const [name, value, node] of plan.defaults) {
    if (object[name] !== undefined) continue;
    if (typeof value === 'object' && value !== null) {
      const made = (Array.isArray(value) ? [...value] : { ...value }) as JsonObject;
      object[name] = made;
      if (node.kind === 'struct') setDefaults(node, made);
    } else object[name] = value;
  }
}

function decodeValue(node: PlanNode, value: Json, walk: Walk, defaults: boolean): Json | undefined {
  switch (node.kind) {
    case 'scalar':
      return decodeScalar(node.scalar, value, walk, node);
    case 'struct': {
      if (value === null || typeof value !== 'object' || Array.isArray(value))
        throw mismatch(node, value, walk);
      decodeStruct(node, value, walk, defaults);
      return value;
    }
    case 'array':
      return decodeArray(node.items, value, walk, defaults, node);
    case 'map': {
      if (value === null || typeof value !== 'object' || Array.isArray(value))
        throw mismatch(node, value, walk);
      for (const key of Object.keys(value)) {
        const item = value[key];
        walk.place.push(`.${key}`);
        const next =
          item === null || item === undefined
            ? zeroOf(node.values)
            : decodeValue(node.values, item, walk, defaults);
        walk.place.pop();
        if (next !== item)
          Object.defineProperty(value, key, {
            value: next,
            enumerable: true,
            writable: true,
            configurable: true,
          });
      }
      return value;
    }
    case 'bytes':
      if (typeof value !== 'string') throw mismatch(node, value, walk);
      checkBase64(value);
      return value;
    case 'special':
      return decodeSpecial(node, value);
    default:
      return value;
  }
}

function decodeArray(items: PlanNode, value: Json, walk: Walk, defaults: boolean, node: PlanNode): Json {
  if (!Array.isArray(value)) throw mismatch(node, value, walk);
  const at = walk.place.length;
  for (let i = 0; i < value.length; i++) {
    const item = value[i]!;
    walk.place.push(`[${i}]`);
    if (item === null) value[i] = zeroOf(items);
    else {
      const next = decodeValue(items, item, walk, defaults);
      if (next !== item) value[i] = next ?? null;
    }
    if (items.kind === 'struct' && item === null && defaults) setDefaults(items, value[i] as JsonObject);
    walk.place.length = at;
  }
  return value;
}

/** What Go's decoder leaves for null inside a list or map. */
function zeroOf(node: PlanNode): Json {
  switch (node.kind) {
    case 'scalar':
      return node.scalar === 'string' ? '' : node.scalar === 'bool' ? false : 0;
    case 'struct':
      return {};
    case 'array':
      return [];
    case 'map':
      return {};
    case 'bytes':
      return '';
    case 'special':
      return node.special === 'quantity' ? '0' : node.special === 'intOrString' ? 0 : null;
    default:
      return null;
  }
}

function decodeScalar(scalar: ScalarType, value: Json, walk: Walk, node: PlanNode): Json {
  switch (scalar) {
    case 'string':
      if (typeof value !== 'string') throw mismatch(node, value, walk);
      return value;
    case 'bool':
      if (typeof value !== 'boolean') throw mismatch(node, value, walk);
      return value;
    case 'float64':
      if (typeof value === 'bigint') return Number(value);
      if (typeof value !== 'number') throw mismatch(node, value, walk);
      return value;
    default: {
      if (typeof value !== 'number' && typeof value !== 'bigint') throw mismatch(node, value, walk);
      const fits = scalar === 'int32' ? value >= -2147483648 && value <= 2147483647 : isInt64(value);
      if (!fits || (typeof value === 'number' && !Number.isInteger(value)))
        throw cannotUnmarshal(goValueName(value, true), walk.struct, walk.path, scalar);
      return value;
    }
  }
}

function decodeSpecial(node: PlanNode & { kind: 'special' }, value: Json): Json | undefined {
  switch (node.special) {
    case 'quantity':
      return canonicalQuantity(value);
    case 'time':
      if (typeof value !== 'string') throw cannotUnmarshal(goValueName(value), '', [], 'string');
      return canonicalTime(value);
    case 'microTime':
      if (typeof value !== 'string') throw cannotUnmarshal(goValueName(value), '', [], 'string');
      return canonicalMicroTime(value);
    case 'duration':
      if (typeof value !== 'string') throw cannotUnmarshal(goValueName(value), '', [], 'string');
      return value;
    case 'intOrString':
      if (typeof value === 'string') return value;
      if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 2147483647) return value;
      throw new DecodeError(
        typeof value === 'number'
          ? `json: cannot unmarshal number ${value} into Go value of type int32`
          : `json: cannot unmarshal ${goValueName(value)} into Go value of type int32`,
      );
    case 'fieldsV1':
    case 'rawExtension':
    case 'json':
      return value;
    default:
      return value;
  }
}

function mismatch(node: PlanNode, value: Json, walk: Walk): DecodeError {
  const goType = goTypeName(node);
  return cannotUnmarshal(
    goValueName(value),
    walk.struct,
    walk.path,
    goType,
    cannotRestore(node, value, goType),
  );
}

/** How Go names the kind of a value that was read from JSON. */
function kindOf(value: Json): string {
  if (Array.isArray(value)) return 'slice';
  if (typeof value === 'object') return 'map';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'bigint' ? 'int64' : typeof value === 'boolean' ? 'bool' : 'string';
}

function cannotRestore(node: PlanNode, value: Json, goType: string): string {
  const kind = kindOf(value);
  switch (node.kind) {
    case 'struct':
      return `cannot restore struct from: ${kind}`;
    case 'map':
      return `cannot restore map from ${kind}`;
    case 'scalar':
      return kind === 'int64' && node.scalar === 'string'
        ? `cannot convert int64 to ${goType}`
        : `unrecognized type: ${node.scalar}`;
    default:
      return `cannot restore slice from ${kind}`;
  }
}

function placeOf(walk: Walk, key: string): string {
  return walk.place.length === 0 ? key : `${walk.place.join('')}.${key}`;
}

const base64Text = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** Go's base64.StdEncoding ignores line ends and refuses everything else. */
function checkBase64(text: string): void {
  const clean = text.includes('\n') || text.includes('\r') ? text.replaceAll(/[\r\n]/g, '') : text;
  if (base64Text.test(clean)) return;
  const bad = clean.search(/[^A-Za-z0-9+/]/);
  const at = bad < 0 ? clean.length - (clean.length % 4) : bad;
  throw new DecodeError(`illegal base64 data at input byte ${at}`);
}
