// Checks a custom resource against the structural schema of its version, in the words of upstream's validator.
import { compilePattern, type Pattern } from '../../base/regular-expression.ts';
import { jsonEqual } from '../equality.ts';
import type { FieldError } from '../field-error.ts';
import { fieldErrorText, invalid, notSupported, required, tooLong, tooMany, unfit } from '../field-error.ts';
import type { Json, JsonObject } from '../json.ts';
import { isObject, objs, str, strs } from '../json-access.ts';
import type { Correlated } from './correlated.ts';
import { formatFor, hasFormat } from './formats.ts';
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
  return (errors.length > 1 ? withoutRepeated(errors) : errors).slice(0, maxErrors);
}

/** A choice may say what was said already. */
function withoutRepeated(errors: readonly FieldError[]): FieldError[] {
  const texts = new Map<string, FieldError>();
  for (const error of errors) {
    const text = fieldErrorText(error);
    if (!texts.has(text)) texts.set(text, error);
  }
  return [...texts.values()];
}

/** Integers beyond what a double tells apart come as bigints; what comes as a double there was no integer of 64 bits. */
const isInteger = (value: Json): boolean => typeof value === 'bigint' || Number.isSafeInteger(value);
const typeName = (value: Json): string => {
  if (Array.isArray(value)) return 'array';
  if (value === null) return 'null';
  if (isInteger(value)) return 'integer';
  return typeof value;
};

/** What there may be, as messages say it; '' where nothing is said. */
const wantedType = (schema: StructuralSchema): string =>
  isIntOrString(schema) ? 'integer,string' : str(schema['type']);

/** `spec.x in body must be …`; the root has an empty name. */
const inBody = (path: string): string => `${path} in body`;
const place = (path: string): string => (path === '' ? '<nil>' : path);
/** Of a schema as a whole upstream says no field: the text names it. */
const unplaced = (why: string): FieldError => invalid('<nil>', '', why);

/**
 * Answers how much of the schema fitted, as upstream counts it: of choices of which none fits, the one that fits most is
 * told of. The order of what is looked at is upstream's.
 */
function check(
  value: Json | undefined,
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
  change: Correlated | undefined,
): number {
  // What did not change is not looked at: nor does it count, or an object that was there before could not even be let go.
  if (value === undefined || errors.length >= maxErrors || change?.isEqual === true) return 1;
  if (++checks > maxChecks) return 1;
  return value === null ? checkNull(schema, path, errors) : checkValue(value, schema, path, errors, change);
}

function checkNull(schema: StructuralSchema, path: string, errors: FieldError[]): number {
  const wanted = wantedType(schema);
  const isWrong = wanted !== '' && !isNullable(schema);
  if (isWrong) errors.push(wrongType(path, 'null', wanted));
  checkEnum(null, schema, path, errors);
  return isWrong ? 0 : 1;
}

function checkValue(
  value: NonNullable<Json>,
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
  change: Correlated | undefined,
): number {
  const isText = typeof value === 'string';
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  let matched = 2 + checkType(value, schema, path, errors);
  matched += isCombined(schema) ? checkCombined(value, schema, path, errors) : 2;
  if (isText) matched += checkString(value, schema, path, errors);
  else if (isNumber) matched += checkNumber(value, schema, path, errors);
  else if (Array.isArray(value)) matched += checkList(value, schema, path, errors, change);
  checkEnum(value, schema, path, errors);
  if (isObject(value)) matched += checkObject(value, schema, path, errors, change);
  return matched;
}

/** What Go holds a number as. */
const goFormat = (value: Json): string =>
  isInteger(value) ? 'int64' : typeof value === 'number' ? 'float64' : '';

function checkType(value: Json, schema: StructuralSchema, path: string, errors: FieldError[]): number {
  const wanted = wantedType(schema);
  const format = formatFor(wanted, str(schema['format']));
  if (wanted === '' && format === '') return 0;
  const is = typeName(value);
  const fits = wanted.split(',').includes(is) || (is === 'integer' && wanted === 'number');
  if (format !== '' && !fits) {
    // A text or a list with a format has the type that the format has, whatever else is said.
    if (is === 'string' || is === 'array') {
      if (!/number|integer/.test(wanted)) return 2;
    } else if (goFormat(value) !== format) {
      errors.push(wrongType(path, goFormat(value), format));
      return 1;
    }
  }
  if (!fits) errors.push(wrongType(path, is, wanted));
  return fits ? 2 : 1;
}

const wrongType = (path: string, is: string, wanted: string): FieldError => ({
  ...invalid(place(path), is, `${inBody(path)} must be of type ${wanted}: ${JSON.stringify(is)}`),
  type: 'FieldValueTypeInvalid',
});

function checkEnum(value: Json, schema: StructuralSchema, path: string, errors: FieldError[]): void {
  const allowed = schema['enum'];
  if (!Array.isArray(allowed) || allowed.length === 0) return;
  const { texts, others, shown } = choicesOf(allowed);
  if (typeof value !== 'string') checks += others.length;
  // As upstream, null is none of the values, even where it is one, and a number is as whole as that which it is held to.
  const held = (one: Json): Json =>
    typeof value === 'number' && Number.isSafeInteger(one) ? Math.trunc(value) : value;
  const isOne =
    typeof value === 'string' ? texts.has(value) : others.some((one) => jsonEqual(one, held(one)));
  if (isOne && value !== null) return;
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

function checkString(value: string, schema: StructuralSchema, path: string, errors: FieldError[]): number {
  const fault = lengthFault(value, schema, path) ?? patternFault(value, schema, path);
  if (fault !== undefined) errors.push(fault);
  const format = formatFor(wantedType(schema), str(schema['format']));
  // Formats of numbers are none of a text.
  if (format === '' || /^(?:u?int|float|double)/.test(format)) return 1;
  if (!hasFormat(value, format)) {
    const why = `${inBody(path)} must be of type ${format}: ${JSON.stringify(value)}`;
    errors.push({ ...invalid(place(path), value, why), type: 'FieldValueTypeInvalid' });
  }
  return 2;
}

/** A character is one or two units: of most texts it is known without counting. */
function lengthFault(value: string, schema: StructuralSchema, path: string): FieldError | undefined {
  const min = numberIn(schema, 'minLength');
  const max = numberIn(schema, 'maxLength');
  if (max !== undefined && value.length > max && characters(value) > max) return tooLong(place(path), max);
  if (min !== undefined && value.length < 2 * min && characters(value) < min)
    return invalid(place(path), value, `${inBody(path)} should be at least ${min} chars long`);
  return undefined;
}

function patternFault(value: string, schema: StructuralSchema, path: string): FieldError | undefined {
  const why = patternError(value, schema['pattern']);
  return why === undefined ? undefined : invalid(place(path), value, `${inBody(path)} ${why}`);
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
  typeof value === 'bigint'
    ? value % BigInt(step) === 0n
    : Number.isSafeInteger(step < 1 ? (1 / step) * value : value / step);

/** Upstream's ranges of formats; of a number without one there is none. */
function rangeFault(
  value: Json,
  schema: StructuralSchema,
  what: string,
  path: string,
): FieldError | undefined {
  const type = wantedType(schema);
  const format = formatFor(type, str(schema['format']));
  if (type === 'integer') {
    const isNarrow = format === 'int32';
    const most = isNarrow ? 2_147_483_648 : Number.POSITIVE_INFINITY;
    if (isInteger(value) && Number(value) >= -most && Number(value) < most) return undefined;
    const shown = format === '' ? '(default format)' : `with format ${format}`;
    return unplaced(`${what} value must be of type integer ${shown} in ${path}`);
  }
  if (type !== 'number' || format !== 'float' || Number.isFinite(Math.fround(Number(value))))
    return undefined;
  return unplaced(`${what} value must be of type number with format float in ${path}`);
}

function checkNumber(
  value: number | bigint,
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
): number {
  const say = (why: string): void => {
    errors.push(invalid(place(path), value, `${inBody(path)} ${why}`));
  };
  const ofValue = rangeFault(value as Json, schema, 'Checked', path);
  if (ofValue !== undefined) errors.push(ofValue);
  const bound = (name: string, what: string): number | undefined => {
    const found = numberIn(schema, name);
    const fault = found === undefined ? undefined : rangeFault(found, schema, what, path);
    if (fault !== undefined) errors.push(fault);
    // A whole number is held to whole bounds.
    return found !== undefined && fault === undefined && isInteger(value as Json) ? Math.trunc(found) : found;
  };
  const step = bound('multipleOf', 'MultipleOf');
  if (step !== undefined && step <= 0)
    errors.push(
      invalid(place(path), step, `factor MultipleOf declared for ${path} must be positive: ${step}`),
    );
  else if (step !== undefined && !isMultiple(value, step)) say(`should be a multiple of ${step}`);
  const min = bound('minimum', 'Minimum boundary');
  if (min !== undefined) {
    if (schema['exclusiveMinimum'] === true && value <= min) say(`should be greater than ${min}`);
    else if (value < min) say(`should be greater than or equal to ${min}`);
  }
  const max = bound('maximum', 'Maximum boundary');
  if (max !== undefined) {
    if (schema['exclusiveMaximum'] === true && value >= max) say(`should be less than ${max}`);
    else if (value > max) say(`should be less than or equal to ${max}`);
  }
  return 2;
}

function checkList(
  value: readonly Json[],
  schema: StructuralSchema,
  path: string,
  errors: FieldError[],
  change: Correlated | undefined,
): number {
  let matched = 2;
  const items = itemsOf(schema);
  if (items)
    for (let i = 0; i < value.length; i++)
      matched += check(value[i], items, `${path}[${i}]`, errors, change?.index(i));
  const min = numberIn(schema, 'minItems');
  const max = numberIn(schema, 'maxItems');
  if (min !== undefined && value.length < min)
    errors.push(invalid(place(path), value.length, `${inBody(path)} should have at least ${min} items`));
  if (max !== undefined && value.length > max) errors.push(tooMany(place(path), value.length, max));
  return matched;
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
): number {
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
  let matched = 1;
  for (const name of names) {
    const inner = propertyOf(schema, name) ?? values;
    if (inner === undefined || inner === true) continue;
    const known = isVersion(path, name) ? undefined : change?.key(name);
    matched += check(value[name], inner, within(path, name), errors, known);
  }
  const needed = schema['required'];
  for (const name of needed === undefined ? noNames : strs(needed))
    if (!Object.hasOwn(value, name) || value[name] === undefined) errors.push(required(within(path, name)));
  return matched;
}

/** Most schemas have none, and each value of each is asked about. */
const isCombined = ({ allOf, anyOf, oneOf, not }: StructuralSchema): boolean =>
  allOf !== undefined || anyOf !== undefined || oneOf !== undefined || not !== undefined;

/** What was found when a value was held to one of several schemas. */
interface Tried {
  readonly errors: FieldError[];
  readonly matched: number;
}
const untried: Tried = { errors: [], matched: 0 };

function tried(value: Json, schema: StructuralSchema, path: string): Tried {
  const errors: FieldError[] = [];
  const matched = check(value, schema, path, errors, undefined);
  return { errors, matched };
}

function checkCombined(value: Json, schema: StructuralSchema, path: string, errors: FieldError[]): number {
  const name = JSON.stringify(path);
  let matched = 2;
  const add = (found: Tried): void => {
    errors.push(...found.errors);
    matched += found.matched;
  };
  const any = objs(schema['anyOf']);
  if (any.length > 0) {
    const best = bestOf(value, any, path);
    if (best.errors.length > 0) errors.push(unplaced(`${name} must validate at least one schema (anyOf)`));
    add(best);
  }
  const one = objs(schema['oneOf']);
  if (one.length > 0) checkOneOf(value, one, path, errors, add);
  const all = objs(schema['allOf']).map((each) => tried(value, each, path));
  for (const found of all) add(found);
  const fitting = all.filter((found) => found.errors.length === 0).length;
  if (fitting < all.length)
    errors.push(
      unplaced(`${name} must validate all the schemas (allOf)${fitting === 0 ? '. None validated' : ''}`),
    );
  const not = schema['not'];
  if (isObject(not) && tried(value, not, path).errors.length === 0)
    errors.push(unplaced(`${name} must not validate the schema (not)`));
  return matched;
}

/** The first that fits; otherwise that which fits most. */
function bestOf(value: Json, schemas: readonly StructuralSchema[], path: string): Tried {
  let best: Tried | undefined;
  for (const schema of schemas) {
    const found = tried(value, schema, path);
    if (found.errors.length === 0) return found;
    if (best === undefined || found.matched > best.matched) best = found;
  }
  return best ?? untried;
}

function checkOneOf(
  value: Json,
  schemas: readonly StructuralSchema[],
  path: string,
  errors: FieldError[],
  add: (found: Tried) => void,
): void {
  const all = schemas.map((schema) => tried(value, schema, path));
  const fitting = all.filter((found) => found.errors.length === 0);
  if (fitting.length === 1) {
    add(fitting[0]!);
    return;
  }
  const found = fitting.length === 0 ? 'Found none valid' : `Found ${fitting.length} valid alternatives`;
  errors.push(unplaced(`${JSON.stringify(path)} must validate one and only one schema (oneOf). ${found}`));
  if (fitting.length > 0) return;
  add(all.reduce((best, each) => (each.matched > best.matched ? each : best)));
}
