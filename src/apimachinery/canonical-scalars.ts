// Brings quantities and times to the one form that the API stores, as Go's types do when they are read and written.
import { readRfc3339 } from '../base/rfc3339.ts';
import type { Json } from './declaration.ts';
import { canonicalizeQuantity as quantityText } from './quantity.ts';
import { DecodeError } from './schema-errors.ts';

export function canonicalQuantity(value: Json): string {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint')
    throw new DecodeError(quantityFormat);
  const text = String(value).trim();
  if (/^(0|[1-9][0-9]{0,14})(m?)$/.test(text) && !text.endsWith('m')) return simpleInteger(text);
  try {
    return quantityText(text);
  } catch (error) {
    throw new DecodeError(error instanceof Error ? error.message : quantityFormat);
  }
}
const quantityFormat =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
/** Whole numbers without trailing zeroes are canonical as they are. */
const simpleInteger = (text: string): string => (text.endsWith('000') ? quantityText(text) : text);

const plainTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

function parseTime(text: string, layout: string): number {
  const read = readRfc3339(text);
  if (typeof read === 'number') return read;
  const shown = JSON.stringify(text);
  if (read !== undefined) throw new DecodeError(`parsing time ${shown}: ${read} out of range`);
  throw new DecodeError(
    `parsing time ${shown} as ${JSON.stringify(layout)}: cannot parse ${shown} as "2006"`,
  );
}

/** metav1.Time: UTC, whole seconds. */
export function canonicalTime(text: string): string {
  const ms = parseTime(text, '2006-01-02T15:04:05Z07:00');
  return plainTime.test(text) ? text : `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** metav1.MicroTime: UTC, six digits. */
export function canonicalMicroTime(text: string): string {
  const ms = parseTime(text, '2006-01-02T15:04:05.000000Z07:00');
  const fraction = (/[.,](\d+)/.exec(text)?.[1] ?? '').padEnd(6, '0').slice(0, 6);
  return `${new Date(ms).toISOString().slice(0, 19)}.${fraction}Z`;
}
