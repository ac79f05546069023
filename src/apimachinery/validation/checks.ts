// Small checks that validators are made of. Each answers the violated rules of one field.
import { semanticEqual } from '../equality.ts';
import type { FieldError } from '../field-error.ts';
import { fieldErrorText, forbidden, invalid, notSupported, required } from '../field-error.ts';
import { matchesSelector, selectorFrom } from '../label-selector.ts';
import { type Labels, labelValueErrors, qualifiedNameErrors } from '../labels.ts';
import { dnsLabel, dnsSubdomain, type NameRule } from './names.ts';

export type Errors = FieldError[];

export const each = (field: string, value: string | undefined, rule: NameRule): Errors =>
  rule(value ?? '').map((why) => invalid(field, value ?? '', why));
/** Required, and then right. */
export const named = (field: string, value: string | undefined, rule: NameRule): Errors =>
  value ? each(field, value, rule) : [required(field)];
export const optional = (field: string, value: string | undefined, rule: NameRule): Errors =>
  value ? each(field, value, rule) : [];
export const oneOf = (field: string, value: string | undefined, allowed: readonly string[]): Errors =>
  allowed.includes(value ?? '') ? [] : [notSupported(field, value ?? '', allowed)];

const httpPath = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const isHttpPath = new RegExp(`^${httpPath}$`);
/** `example.com/name`: a domain's own names, told apart by its prefix. What is wrong is told of the part that it is wrong with. */
export function domainPrefixedPath(field: string, text: string): Errors {
  if (text === '') return [required(field)];
  const at = text.indexOf('/');
  const [host, path] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (host === '' || path === '')
    return [invalid(field, text, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  const errors = each(field, host, dnsSubdomain);
  if (!isHttpPath.test(path))
    errors.push(invalid(field, path, `Invalid path (regex used for validation is '${httpPath}')`));
  return errors;
}

/** `example.com` or `example.com.`: at least two labels. */
export function fullyQualifiedDomainName(field: string, text: string): Errors {
  if (text === '') return [required(field)];
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  const wrong = dnsSubdomain(name);
  if (wrong.length > 0) return [invalid(field, name, wrong.join(','))];
  const labels = name.split('.');
  if (labels.length < 2)
    return [invalid(field, name, 'should be a domain with at least two segments separated by dots')];
  const long = labels.find((label) => dnsLabel(label).length > 0);
  return long === undefined ? [] : [invalid(field, long, dnsLabel(long).join(','))];
}

/** Where a list says again what it said before. */
export function repeated(list: readonly string[]): ReadonlySet<number> {
  const seen = new Set<string>();
  const again = new Set<number>();
  list.forEach((one, i) => {
    if (seen.has(one)) again.add(i);
    seen.add(one);
  });
  return again;
}

export const notNegative = 'must be greater than or equal to 0';
export const nonNegative = (field: string, value: number | bigint | undefined): Errors =>
  value !== undefined && value < 0 ? [invalid(field, value, notNegative)] : [];
export const immutable = 'field is immutable';
export const unchanged = (field: string, value: unknown, old: unknown): Errors =>
  semanticEqual(value, old) ? [] : [invalid(field, value, immutable)];

/** What an update adds to be told of: an object that is stored may stay as wrong as it was, or nobody could touch it. */
export function newErrors(errors: readonly FieldError[], old: () => readonly FieldError[]): Errors {
  if (errors.length === 0) return [];
  const known = new Set(old().map(fieldErrorText));
  return errors.filter((error) => !known.has(fieldErrorText(error)));
}

/** Names of the fields that differ. */
export function changedFields(value: object, old: object): string[] {
  const [after, before] = [value, old] as Readonly<Record<string, unknown>>[];
  return Object.keys({ ...after, ...before }).filter((name) => !semanticEqual(after?.[name], before?.[name]));
}

export function labels(field: string, value: Labels | undefined): Errors {
  if (value === undefined) return [];
  return Object.entries(value).flatMap(([key, text = '']) => [
    ...qualifiedNameErrors(key).map((why) => invalid(field, key, why)),
    ...labelValueErrors(text).map((why) => invalid(field, text, why)),
  ]);
}

/** A LabelSelector as it may come: any part of it may be missing. */
export interface SentSelector {
  readonly matchLabels?: Labels | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key?: string | undefined;
        readonly operator?: string | undefined;
        readonly values?: readonly string[] | undefined;
      }[]
    | undefined;
}

const operators = ['DoesNotExist', 'Exists', 'In', 'NotIn'];
export function labelSelector(field: string, selector: SentSelector | undefined): Errors {
  if (selector === undefined) return [];
  const errors = labels(`${field}.matchLabels`, selector.matchLabels);
  selector.matchExpressions?.forEach(({ key, operator = '', values = [] }, i) => {
    const at = `${field}.matchExpressions[${i}]`;
    if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
      errors.push(required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    else if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
      errors.push(
        forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
      );
    else if (!operators.includes(operator))
      errors.push(invalid(`${at}.operator`, operator, 'not a valid selector operator'));
    errors.push(...qualifiedNameErrors(key ?? '').map((why) => invalid(`${at}.key`, key, why)));
    values.forEach((value, j) => {
      errors.push(...labelValueErrors(value).map((why) => invalid(`${at}.values[${j}]`, value, why)));
    });
  });
  return errors;
}

/** Whether a LabelSelector takes these labels; undefined for a selector that is no selector. */
export function selects(
  selector: SentSelector | undefined,
  labelSet: Labels | undefined,
): boolean | undefined {
  if (selector === undefined) return undefined;
  try {
    return matchesSelector(selectorFrom(selector as never), labelSet ?? {});
  } catch {
    return undefined;
  }
}
export const isEmptySelector = ({ matchLabels = {}, matchExpressions = [] }: SentSelector): boolean =>
  Object.keys(matchLabels).length === 0 && matchExpressions.length === 0;
