// Checks a custom resource against the structural schema of its version, in the words of upstream's validator.
import { compilePattern, type Pattern } from '../../base/regular-expression.ts';
import { jsonEqual } from '../equality.ts';
import type { FieldError } from '../field-error.ts';
import { invalid, notSupported, required, tooMany, unfit } from '../field-error.ts';
import type { Json, JsonObject } from '../json.ts';
import { isObject, objs, strs } from '../json-access.ts';
import type { Correlated } from './correlated.ts';
import { hasFormat } from './formats.ts';
import {
  isIntOrString,
  isNullable,
  itemsOf,
  propertyOf,
  type StructuralSchema,
  valuesOf,
} from './structural-schema.ts';

const maxErrors = 50;
const patterns = new Map<string, Pattern | undefined>();
/**
 * What the patterns of one object may take, in characters times the size of the expression: about a second. Linear in the
 * text is not enough when a tenant chooses text and expression, and all wait for one thread.
 */
const maxSteps = 50_000_000;
let steps = 0;
/**
 * Values times the schemas that each of them is held to: about half a second. Choices (anyOf, oneOf) hold all of a value to
 * each of theirs, thousands of values to thousands of choices.
 */
const maxChecks = 2_000_000;
let checks = 0;

function patternOf(source: string): Pattern | undefined {
  if (!patterns.has(source)) {
    if (patterns.size > 10_000) patterns.clear();
    try {
      patterns.set(source, compilePattern(source));
    } catch {
      patterns.set(source, undefined);
    }
  }
  return patterns.get(source);
}

/**
 * Of an object, or of any value; the paths of the errors begin at it. With what is known of its `change`, what was wrong
 * before and is the same stays as it is, so that a stricter schema does not freeze old objects.
 */
export function validateStructural(value: Json, schema: StructuralSchema, change?: Correlated): FieldError[] {
  const errors: FieldError[] = [];
  steps = 0;
  checks = 0;
  check(value, schema, '', errors, change);
  if (checks > maxChecks)
    return [
      unfit('<nil>', 'the object has too many values for the choices of its schema to be tried; use fewer'),
    ];
  return errors.slice(0, maxErrors);
}

/** Integers beyond what a double tells apart come as bigints; what comes as a double there was no integer of 64 bits. */
const typeName = (value: Json): string =>
  Array.isArray(value)
    ? 'array'
    : value === null
      ? 'null'
      : typeof value === 'bigint'
        ? 'integer'
        : typeof value === 'number'
          ? Number.isSafeInteger(value)
            ? 'integer'
            : 'number'
          : typeof value;

function hasType(value: Json, type: string): boolean {
  const is = typeName(value);
  return is === type || (type === 'number' && is === 'integer');
}

/** `spec.x in body must be …`; the root has no name. */
const inBody = (path: string): string => (path === '' ? 'in body' : `${path} in body`);
const place = (path: string): string => (path === '' ? '<nil>' : path);

function check(
  value: Json | undefined,
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
  change: Correlated | undefined,
): void {
  // What did not change is not looked at: nor does it count, or an object that was there before could not even be let go.
  if (value === undefined || errors.length >= maxErrors || change?.isEqual === true) return;
  if (++checks > maxChecks || (value === null && isNullable(schema))) return;
  checkValue(value, schema, path, errors, change);
}

function checkValue(
  value: Json,
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
  change: Correlated | undefined,
): void {
  const type = schema['type'];
  if (isIntOrString(schema)) {
    if (!hasType(value, 'integer') && typeof value !== 'string')
      errors.push(wrongType(path, value, 'integer,string'));
  } else if (typeof type === 'string' && type !== '' && !hasType(value, type)) {
    errors.push(wrongType(path, value, type));
    return;
  }
  checkEnum(value, schema, path, errors);
  if (typeof value === 'string') checkString(value, schema, path, errors);
  else if (typeof value === 'number' || typeof value === 'bigint') checkNumber(value, schema, path, errors);
  else if (Array.isArray(value)) checkList(value, schema, path, errors, change);
  else if (isObject(value)) checkObject(value, schema, path, errors, change);
  if (isCombined(schema)) checkCombined(value, schema, path, errors);
}

const wrongType = (path: string, value: Json, wanted: string): FieldError => ({
  ...invalid(
    place(path),
    typeName(value),
    `${inBody(path)} must be of type ${wanted}: ${JSON.stringify(typeName(value))}`,
  ),
  type: 'FieldValueTypeInvalid',
});

function checkEnum(value: Json, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  const allowed = schema['enum'];
  if (!Array.isArray(allowed) || allowed.length === 0) return;
  const { texts, others, shown } = choicesOf(allowed);
  if (typeof value !== 'string') checks += others.length;
  if (typeof value === 'string' ? texts.has(value) : others.some((one) => jsonEqual(one, value))) return;
  errors.push(notSupported(place(path), value, shown, true));
}

interface Choices {
  readonly texts: ReadonlySet<string>;
  readonly others: readonly Json[];
  /** As refusals list them. */
  readonly shown: readonly string[];
}

/** Tens of thousands of values may be compared with as many: what is the same for all is worked out once. */
const choices = new WeakMap<readonly Json[], Choices>();

function choicesOf(allowed: readonly Json[]): Choices {
  let found = choices.get(allowed);
  if (found === undefined) {
    found = {
      texts: new Set(allowed.filter((one) => typeof one === 'string')),
      others: allowed.filter((one) => typeof one !== 'string'),
      shown: allowed.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))),
    };
    choices.set(allowed, found);
  }
  return found;
}

const numberIn = (schema: StructuralSchema, name: string): number | undefined => {
  const found = schema[name];
  return typeof found === 'number' ? found : typeof found === 'bigint' ? Number(found) : undefined;
};

function characters(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function checkString(value: string, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  const say = (why: string): void => {
    errors.push(invalid(place(path), value, `${inBody(path)} ${why}`));
  };
  const min = numberIn(schema, 'minLength');
  const max = numberIn(schema, 'maxLength');
  // A character is one or two units: of most texts it is known without counting.
  if (min !== undefined && value.length < 2 * min && characters(value) < min)
    say(`should be at least ${min} chars long`);
  if (max !== undefined && value.length > max && characters(value) > max)
    errors.push({
      type: 'FieldValueTooLong',
      field: place(path),
      message: `Too long: may not be more than ${max} bytes`,
    });
  const wrong = patternError(value, schema['pattern']);
  if (wrong !== undefined) say(wrong);
  const format = schema['format'];
  if (typeof format === 'string' && !hasFormat(value, format))
    say(`must be of type ${format}: ${JSON.stringify(value)}`);
}

function patternError(value: string, source: Json | undefined): string | undefined {
  const pattern = typeof source === 'string' ? patternOf(source) : undefined;
  if (pattern === undefined) return undefined;
  steps += (value.length + 1) * pattern.size;
  if (steps > maxSteps)
    return `should match '${source}', but the texts of this object are too long to be tried; use shorter ones`;
  return pattern.matches(value) ? undefined : `should match '${source}'`;
}

const isMultiple = (value: number | bigint, step: number): boolean =>
  typeof value === 'bigint' && Number.isSafeInteger(step)
    ? value % BigInt(step) === 0n
    : Number.isInteger(Number(value) / step);

function checkNumber(
  value: number | bigint,
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
): void {
  const say = (why: string): void => {
    errors.push(invalid(place(path), value, `${inBody(path)} ${why}`));
  };
  const min = numberIn(schema, 'minimum');
  const max = numberIn(schema, 'maximum');
  const step = numberIn(schema, 'multipleOf');
  if (min !== undefined) {
    if (schema['exclusiveMinimum'] === true && value <= min) say(`should be greater than ${min}`);
    else if (value < min) say(`should be greater than or equal to ${min}`);
  }
  if (max !== undefined) {
    if (schema['exclusiveMaximum'] === true && value >= max) say(`should be less than ${max}`);
    else if (value > max) say(`should be less than or equal to ${max}`);
  }
  if (step !== undefined && step > 0 && !isMultiple(value, step)) say(`should be a multiple of ${step}`);
  const format = schema['format'];
  if (format === 'int32' && (value < -2147483648 || value > 2147483647))
    say(`must be of type int32: ${JSON.stringify(String(value))}`);
}

function checkList(
  value: readonly Json[],
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
  change: Correlated | undefined,
): void {
  const min = numberIn(schema, 'minItems');
  const max = numberIn(schema, 'maxItems');
  if (min !== undefined && value.length < min)
    errors.push(invalid(place(path), value.length, `${inBody(path)} should have at least ${min} items`));
  if (max !== undefined && value.length > max) errors.push(tooMany(place(path), value.length, max));
  const items = itemsOf(schema);
  if (items)
    for (let i = 0; i < value.length; i++) check(value[i], items, `${path}[${i}]`, errors, change?.index(i));
}

/** Both are made the served version before they are compared. */
const isVersion = (path: string, name: string): boolean =>
  path === '' && (name === 'apiVersion' || name === 'kind');

const within = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`);

const noNames: readonly string[] = [];

function checkObject(
  value: JsonObject,
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
  change: Correlated | undefined,
): void {
  const min = numberIn(schema, 'minProperties');
  const max = numberIn(schema, 'maxProperties');
  const values = valuesOf(schema);
  // A choice often names what must be there, and nothing else: it need not go through all that is.
  const needsNames = min !== undefined || max !== undefined || values !== undefined || schema['properties'];
  const names = needsNames ? Object.keys(value) : noNames;
  const count = names.length;
  checks += count;
  if (min !== undefined && count < min)
    errors.push(invalid(place(path), count, `${inBody(path)} should have at least ${min} properties`));
  if (max !== undefined && count > max) errors.push(tooMany(place(path), count, max));
  const needed = schema['required'];
  for (const name of needed === undefined ? noNames : strs(needed))
    if (!Object.hasOwn(value, name) || value[name] === undefined) errors.push(required(within(path, name)));
  for (const name of names) {
    const inner = propertyOf(schema, name) ?? values;
    if (inner === undefined || inner === true) continue;
    check(
      value[name],
      inner,
      within(path, name),
      errors,
      isVersion(path, name) ? undefined : change?.key(name),
    );
  }
}

const isFine = (value: Json, schema: StructuralSchema, path: string): boolean => {
  const errors: FieldError[] = [];
  check(value, schema, path, errors, undefined);
  return errors.length === 0;
};

/** Most schemas have none, and each value of each is asked about. */
const isCombined = ({ allOf, anyOf, oneOf, not }: StructuralSchema): boolean =>
  allOf !== undefined || anyOf !== undefined || oneOf !== undefined || not !== undefined;

function checkCombined(value: Json, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  const say = (why: string): void => {
    errors.push(invalid(place(path), value, `${inBody(path)} ${why}`));
  };
  for (const one of objs(schema['allOf'])) check(value, one, path, errors, undefined);
  const any = objs(schema['anyOf']);
  if (any.length > 0 && !any.some((one) => isFine(value, one, path)))
    say('must validate at least one schema (anyOf)');
  const one = objs(schema['oneOf']);
  if (one.length > 0) {
    const fitting = one.filter((s) => isFine(value, s, path)).length;
    if (fitting !== 1)
      say(
        `must validate one and only one schema (oneOf). Found ${fitting === 0 ? 'none' : String(fitting)} valid`,
      );
  }
  const not = schema['not'];
  if (isObject(not) && isFine(value, not, path)) say('must not validate the schema (not)');
}
