// Values of a query as upstream's conversion reads them; every place that asks for one reads it alike.
import { badRequest } from '../apimachinery/errors.ts';
import { int64, isInt64 } from '../apimachinery/serializer/json-numbers.ts';

/** Anything but false and 0 is true, an empty value too. */
export const queryBoolean = (query: URLSearchParams, name: string): boolean | undefined => {
  const value = query.get(name);
  if (value === null) return undefined;
  return !(value.toLowerCase() === 'false' || value === '0');
};

export function queryInt64(query: URLSearchParams, name: string): number | bigint | undefined {
  const value = query.get(name);
  if (value === null || value === '') return undefined;
  const refuse = (why: string): never => {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: ${why}`);
  };
  if (!/^[+-]?\d+$/.test(value)) refuse('invalid syntax');
  // Of what is longer than any number only as much is read as can matter.
  const digits = value.replace('+', '').replace(/^(-?)0+(?=\d)/, '$1');
  const whole = digits.length > 20 ? undefined : int64(BigInt(digits));
  return whole !== undefined && isInt64(whole) ? whole : refuse('value out of range');
}

/** For a number that is compared, and not written. */
export function queryInteger(query: URLSearchParams, name: string): number | undefined {
  const whole = queryInt64(query, name);
  return whole === undefined ? undefined : Number(whole);
}
