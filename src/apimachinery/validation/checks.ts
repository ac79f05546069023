// Small checks that validators are made of. Each answers the violated rules of one field.
import type { Json } from '../declaration.ts';
import type { FieldError } from '../field-error.ts';
import { invalid, notSupported, required } from '../field-error.ts';
import { isObject, num, obj, objs, semanticEqual, str, strs } from '../json-access.ts';
import { matchesSelector, selectorFrom } from '../label-selector.ts';
import { labelValueErrors, qualifiedNameErrors } from '../labels.ts';
import type { NameRule } from './names.ts';

export type Errors = FieldError[];

export const each = (field: string, value: Json | undefined, rule: NameRule): Errors =>
  rule(str(value)).map((why) => invalid(field, value ?? '', why));
/** Required, and then right. */
export const named = (field: string, value: Json | undefined, rule: NameRule): Errors =>
  str(value) === '' ? [required(field)] : each(field, value, rule);
export const optional = (field: string, value: Json | undefined, rule: NameRule): Errors =>
  str(value) === '' ? [] : each(field, value, rule);
export const oneOf = (field: string, value: Json | undefined, allowed: readonly string[]): Errors =>
  allowed.includes(str(value)) ? [] : [notSupported(field, value ?? '', allowed)];

export const notNegative = 'must be greater than or equal to 0';
export const nonNegative = (field: string, value: Json | undefined): Errors =>
  num(value) < 0 ? [invalid(field, value, notNegative)] : [];
export const immutable = 'field is immutable';
export const unchanged = (field: string, value: Json | undefined, old: Json | undefined): Errors =>
  semanticEqual(value, old) ? [] : [invalid(field, value ?? null, immutable)];

export function labels(field: string, value: Json | undefined): Errors {
  return Object.entries(obj(value)).flatMap(([key, text]) => [
    ...qualifiedNameErrors(key).map((why) => invalid(field, key, why)),
    ...labelValueErrors(str(text)).map((why) => invalid(field, text, why)),
  ]);
}

const operators = ['DoesNotExist', 'Exists', 'In', 'NotIn'];
export function labelSelector(field: string, value: Json | undefined): Errors {
  if (!isObject(value)) return [];
  const errors = labels(`${field}.matchLabels`, value['matchLabels']);
  objs(value['matchExpressions']).forEach((expression, i) => {
    const at = `${field}.matchExpressions[${i}]`;
    const operator = str(expression['operator']);
    const values = strs(expression['values']);
    if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
      errors.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
      errors.push({
        type: 'FieldValueForbidden',
        field: `${at}.values`,
        message: "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      });
    else if (!operators.includes(operator))
      errors.push(invalid(`${at}.operator`, operator, 'not a valid selector operator'));
    errors.push(
      ...qualifiedNameErrors(str(expression['key'])).map((why) =>
        invalid(`${at}.key`, expression['key'], why),
      ),
    );
    values.forEach((v, j) => {
      errors.push(...labelValueErrors(v).map((why) => invalid(`${at}.values[${j}]`, v, why)));
    });
  });
  return errors;
}

/** Whether a LabelSelector takes these labels; undefined for a selector that is no selector. */
export function selects(selector: Json | undefined, labelSet: Json | undefined): boolean | undefined {
  if (!isObject(selector)) return undefined;
  try {
    return matchesSelector(selectorFrom(selector as never), obj(labelSet) as Record<string, string>);
  } catch {
    return undefined;
  }
}
export const isEmptySelector = (selector: Json | undefined): boolean =>
  Object.keys(obj(obj(selector)['matchLabels'])).length === 0 &&
  objs(obj(selector)['matchExpressions']).length === 0;
