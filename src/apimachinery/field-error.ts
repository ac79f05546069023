// One violated rule of one field, as in `status.details.causes`.
import { htmlSafe } from '../base/html-safe-json.ts';
import { goQuote } from './go-format.ts';

export type FieldErrorType =
  | 'FieldValueRequired'
  | 'FieldValueInvalid'
  | 'FieldValueNotSupported'
  | 'FieldValueForbidden'
  | 'FieldValueDuplicate'
  | 'FieldValueNotFound'
  | 'FieldValueTooLong'
  | 'FieldValueTooMany'
  | 'FieldValueTypeInvalid'
  | 'InternalError';

export interface FieldError {
  readonly type: FieldErrorType;
  /** `spec.containers[0].name`. */
  readonly field: string;
  /** What upstream prints before the detail: `Invalid value: "x"`. Made by the constructors in this file. */
  readonly message: string;
}

/** A value is told to people; beyond this it is an attack, and one fault's text would be as long as the body. */
const maxShown = 8 * 1024;
/** Thousands of faults may tell of the same list: it is written out once. */
const shown = new WeakMap<object, string>();

/** As Go prints a number: what is no whole one, and large or small, with an exponent of two digits. */
export function goNumber(value: number): string {
  const [digits, exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (Number.isSafeInteger(value) || (power >= -4 && power < 6)) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** As Go's `%#v`-like rendering in upstream's field.Error: strings quoted, objects as JSON. */
function show(value: unknown): string {
  // Go's nil, of whatever type.
  if (value === undefined) return 'null';
  if (typeof value === 'string')
    return goQuote(value.length > maxShown ? `${value.slice(0, maxShown)}…` : value);
  if (typeof value === 'number') return goNumber(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const known = shown.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  const bounded = htmlSafe(text.length > maxShown ? `${text.slice(0, maxShown)}…` : text);
  shown.set(value, bounded);
  return bounded;
}

const error = (type: FieldErrorType, field: string, message: string): FieldError => ({
  type,
  field,
  message,
});

export const required = (field: string, detail = ''): FieldError =>
  error('FieldValueRequired', field, detail === '' ? 'Required value' : `Required value: ${detail}`);

export const invalid = (field: string, value: unknown, detail: string): FieldError =>
  error('FieldValueInvalid', field, `Invalid value: ${show(value)}: ${detail}`);

/** Of something that is too large to be shown, or that is not there: only what is wrong with it. */
export const unfit = (field: string, detail: string): FieldError =>
  error('FieldValueInvalid', field, `Invalid value: ${detail}`);

export const forbidden = (field: string, detail: string): FieldError =>
  error('FieldValueForbidden', field, `Forbidden: ${detail}`);

export const duplicate = (field: string, value: unknown): FieldError =>
  error('FieldValueDuplicate', field, `Duplicate value: ${show(value)}`);

export const notFound = (field: string, value: unknown): FieldError =>
  error('FieldValueNotFound', field, `Not found: ${show(value)}`);

/** Tens of thousands of values may be none of the same few. */
const supportedTexts = new WeakMap<readonly string[], string>();

function supportedText(supported: readonly string[], asGiven: boolean): string {
  let text = supportedTexts.get(supported);
  if (text === undefined) {
    const listed = asGiven ? supported : [...supported].sort();
    const values = listed.map((v) => JSON.stringify(v));
    text = values.length > 0 ? `: supported values: ${values.join(', ')}` : '';
    supportedTexts.set(supported, text);
  }
  return text;
}

/** Upstream has most of what is supported in sets, which are told in order; `asGiven`: in a list, which is told as it stands. */
export const notSupported = (
  field: string,
  value: unknown,
  supported: readonly string[],
  asGiven = false,
): FieldError =>
  error(
    'FieldValueNotSupported',
    field,
    `Unsupported value: ${show(value)}${supportedText(supported, asGiven)}`,
  );

export const tooLong = (field: string, maxBytes: number): FieldError =>
  error(
    'FieldValueTooLong',
    field,
    `Too long: may not be more than ${maxBytes} ${maxBytes === 1 ? 'byte' : 'bytes'}`,
  );

export const tooMany = (field: string, actual: number, max: number): FieldError =>
  error(
    'FieldValueTooMany',
    field,
    `Too many: ${actual}: must have at most ${max} ${max === 1 ? 'item' : 'items'}`,
  );

/** `spec.x: Required value`, the form in messages. */
export const fieldErrorText = (e: FieldError): string => `${e.field}: ${e.message}`;
