// One requirement of a label selector: a key, an operator and its values.
import type { Labels } from './labels.ts';
import { labelValueErrors, qualifiedNameErrors } from './labels.ts';

export type Operator = '=' | '==' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

/** As LabelSelector objects call them. */
export const objectOperators: Readonly<Record<string, Operator>> = Object.assign(Object.create(null), {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: '!',
});

export interface Requirement {
  readonly key: string;
  readonly operator: Operator;
  /** Sorted, each once. */
  readonly values: readonly string[];
}

/** Upstream's labels.NewRequirement: throws Error when key, operator and values do not fit. */
export function newRequirement(key: string, operator: Operator, given: readonly string[]): Requirement {
  const values = given.length < 2 ? given : [...new Set(given)].sort();
  const errors: string[] = [];
  const add = (path: string, value: unknown, why: string): void => {
    errors.push(`${path}: Invalid value: ${JSON.stringify(value)}: ${why}`);
  };
  const keyErrors = qualifiedNameErrors(key);
  if (keyErrors.length > 0) add('key', key, keyErrors.join('; '));
  checkCount(operator, values, add);
  values.forEach((value, i) => {
    if ((operator === 'gt' || operator === 'lt') && !isInt64Text(value))
      add(`values[${i}]`, value, "for 'Gt', 'Lt' operators, the value must be an integer");
    const valueErrors = labelValueErrors(value);
    if (valueErrors.length > 0) add(`values[${i}][${key}]`, value, valueErrors.join('; '));
  });
  if (errors.length > 0) throw new Error(errors.length === 1 ? errors[0]! : `[${errors.join(', ')}]`);
  return { key, operator, values };
}

function checkCount(
  operator: Operator,
  values: readonly string[],
  add: (path: string, value: unknown, why: string) => void,
): void {
  if (operator === 'in' || operator === 'notin') {
    if (values.length === 0) add('values', values, "for 'in', 'notin' operators, values set can't be empty");
  } else if (operator === 'exists' || operator === '!') {
    if (values.length !== 0) add('values', values, 'values set must be empty for exists and does not exist');
  } else if (operator === 'gt' || operator === 'lt') {
    if (values.length !== 1) add('values', values, "for 'Gt', 'Lt' operators, exactly one value is required");
  } else if (values.length !== 1) {
    add('values', values, 'exact-match compatibility requires one single value');
  }
}

export const isInt64Text = (text: string): boolean => {
  if (!/^[+-]?[0-9]{1,19}$/.test(text)) return false;
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return value >= -(2n ** 63n) && value < 2n ** 63n;
};

const int64 = (text: string | undefined): bigint | undefined =>
  text !== undefined && isInt64Text(text) ? BigInt(text) : undefined;

/** `value` of the label that is asked about; undefined when there is none. */
export function matchesValue(
  operator: Operator,
  values: readonly string[],
  value: string | undefined,
): boolean {
  switch (operator) {
    case '=':
    case '==':
      return value === values[0];
    case 'in':
      return value !== undefined && values.includes(value);
    case '!=':
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'gt':
    case 'lt': {
      const [actual, bound] = [int64(value), int64(values[0])];
      if (actual === undefined || bound === undefined) return false;
      return operator === 'gt' ? actual > bound : actual < bound;
    }
  }
}

export const matchesRequirement = ({ key, operator, values }: Requirement, labels: Labels): boolean =>
  matchesValue(operator, values, Object.hasOwn(labels, key) ? labels[key] : undefined);
