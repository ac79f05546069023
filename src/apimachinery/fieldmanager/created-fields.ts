// Who creates an object owns all that it says: its fields in the form of fieldsV1, made in one walk.
import type { Steps } from '../../base/turns.ts';
import type { Json, JsonObject } from '../declaration.ts';
import { isJsonObject } from '../patch/own-property.ts';
import type { FieldSet } from './field-set.ts';
import { isEmptyContainer } from './path-element.ts';
import { childSchema, elementName, isZero, type MapSchema } from './typed-compare.ts';
import type { TypedSchema } from './typed-schema.ts';

/** What is left out: of `all` with everything below, of `exact` the members alone. */
export interface LeftOut {
  readonly all: FieldSet | undefined;
  readonly exact: FieldSet | undefined;
}

const nothing: LeftOut = { all: undefined, exact: undefined };

const below = ({ all, exact }: LeftOut, name: string): LeftOut => {
  const [allBelow, exactBelow] = [all?.children?.get(name), exact?.children?.get(name)];
  return allBelow === undefined && exactBelow === undefined ? nothing : { all: allBelow, exact: exactBelow };
};

/** A member without members of its own. Shared: nothing is ever added to it. */
const leaf: JsonObject = Object.freeze({});

/** Fields of the object, and of its fields, are steps of their own. */
const steppedLevels = 2;

/**
 * What `compare` finds added where there was nothing, without what is left out, encoded; undefined when that is no field.
 * Most writes of a busy cluster are creates: the sets in between, which nobody else looks at, were a third of their garbage.
 */
export function* createdFields(
  schema: TypedSchema,
  value: Json | undefined,
  leftOut: LeftOut,
  levels: number = steppedLevels,
): Steps<JsonObject | undefined> {
  if (levels === 0 || schema.kind !== 'struct' || !isJsonObject(value)) return ofZero(schema, value, leftOut);
  if (leftOut.all?.self === true) return undefined;
  let encoded: JsonObject | undefined;
  for (const key of namesOf(value)) {
    if (value[key] === undefined) continue;
    const field = schema.fields.get(key);
    const name = field?.element ?? `f:${key}`;
    const child = childSchema(schema, field);
    const out = below(leftOut, name);
    const found =
      field !== undefined && field.inZeroObject !== 'no'
        ? yield* createdFields(child, value[key], out, levels - 1)
        : everyField(child, value[key], out);
    if (found !== undefined) encoded = including(encoded, name, found);
    yield;
  }
  return encoded;
}

/** No element is called `__proto__`: all begin with a letter and a colon. */
function including(encoded: JsonObject | undefined, element: string, found: JsonObject): JsonObject {
  const result = encoded ?? {};
  result[element] = found;
  return result;
}

/** So few are sorted in place: `sort` makes arrays to work in, which were a fifteenth of the garbage of a pod's create. */
const fewNames = 24;

/** Sorted as in fieldsV1, where each has the same letters before it. */
function namesOf(value: JsonObject): readonly string[] {
  const names = Object.keys(value);
  if (names.length > fewNames) return names.sort();
  for (let i = 1; i < names.length; i++) {
    const name = names[i]!;
    let at = i;
    for (; at > 0 && names[at - 1]! > name; at--) names[at] = names[at - 1]!;
    names[at] = name;
  }
  return names;
}

/** Go writes it in any case: it counts when it says something. */
function ofZero(schema: TypedSchema, value: Json | undefined, leftOut: LeftOut): JsonObject | undefined {
  if (value === undefined || saysNothing(schema, value)) return undefined;
  if (schema.kind === 'set' || schema.kind === 'list')
    return Array.isArray(value) ? elements(schema, value, leftOut) : member(leftOut);
  if (schema.kind === 'leaf' || !isJsonObject(value)) return member(leftOut);
  return fields(schema, value, leftOut, true);
}

const saysNothing = (schema: TypedSchema, value: Json): boolean =>
  schema.kind === 'leaf' ? isZero(value) : isEmptyContainer(value);

const member = ({ all, exact }: LeftOut): JsonObject | undefined =>
  all?.self === true || exact?.self === true ? undefined : leaf;

function fields(
  schema: MapSchema,
  value: JsonObject,
  leftOut: LeftOut,
  zero: boolean,
  encoded?: JsonObject,
): JsonObject | undefined {
  if (leftOut.all?.self === true) return undefined;
  let result = encoded;
  for (const key of namesOf(value)) {
    if (value[key] === undefined) continue;
    const field = schema.kind === 'struct' ? schema.fields.get(key) : undefined;
    const name = field?.element ?? `f:${key}`;
    const child = childSchema(schema, field);
    const out = leftOut === nothing ? nothing : below(leftOut, name);
    const isThere = zero && field !== undefined && field.inZeroObject !== 'no';
    const found = isThere ? ofZero(child, value[key], out) : everyField(child, value[key], out);
    if (found !== undefined) result = including(result, name, found);
  }
  return result;
}

function elements(
  schema: Extract<TypedSchema, { kind: 'set' | 'list' }>,
  value: readonly Json[],
  leftOut: LeftOut,
  encoded?: JsonObject,
): JsonObject | undefined {
  if (leftOut.all?.self === true) return undefined;
  const items = schema.kind === 'list' ? schema.items() : undefined;
  let result = encoded;
  const named = value.map((item, index) => [elementName(schema, item, index), item] as const);
  if (named.length > 1) named.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  for (let i = 0; i < named.length; i++) {
    const [name, item] = named[i]!;
    // Elements of one name are one value together.
    const isRepeated = name === named[i + 1]?.[0] || name === named[i - 1]?.[0];
    const out = leftOut === nothing ? nothing : below(leftOut, name);
    const found = items === undefined || isRepeated ? member(out) : everyField(items, item, out);
    if (found !== undefined) result = including(result, name, found);
  }
  return result;
}

/** The value with all containers in it. */
function everyField(schema: TypedSchema, value: Json | undefined, leftOut: LeftOut): JsonObject | undefined {
  const self = member(leftOut);
  if (schema.kind === 'leaf' || value === undefined) return self;
  const isList = schema.kind === 'set' || schema.kind === 'list';
  if (isList ? !Array.isArray(value) : !isJsonObject(value)) return self;
  const begun = self && { '.': leaf };
  const encoded = isList
    ? elements(schema, value as readonly Json[], leftOut, begun)
    : fields(schema, value as JsonObject, leftOut, false, begun);
  return encoded === begun && isEmpty(begun) ? self : encoded;
}

function isEmpty(begun: JsonObject | undefined): boolean {
  if (begun === undefined) return true;
  for (const key in begun) if (key !== '.') return false;
  return true;
}
