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
  if (!/^[+-]?\d{1,19}$/.test(value))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  const whole = int64(BigInt(value.replace('+', '')));
  if (!isInt64(whole))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
  return whole;
}

/** For a number that is compared, and not written. */
export function queryInteger(query: URLSearchParams, name: string): number | undefined {
  const whole = queryInt64(query, name);
  return whole === undefined ? undefined : Number(whole);
}
