// JSON with the numbers that Go knows: an int64 beyond 2^53 keeps its digits, as a bigint; all else is a float64.
import { parseSteps } from '../../base/json-steps.ts';
import type { Steps } from '../../base/turns.ts';
import type { Json } from '../json.ts';
import { DecodeError } from '../schema-errors.ts';

interface RawJson {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
}
const int64Min = -(2n ** 63n);
export const int64Max: bigint = 2n ** 63n - 1n;

/** What stands for a bigint while it is written. */
export const isRawJson = (value: unknown): boolean => (JSON as unknown as RawJson).isRawJSON(value);

// JSON.stringify refuses a bigint unless it says how it is written: as its digits.
Object.defineProperty(BigInt.prototype, 'toJSON', {
  value(this: bigint): object {
    return (JSON as unknown as RawJson).rawJSON(this.toString());
  },
  writable: true,
  configurable: true,
});

/** As a number where a double holds it, else as a bigint. */
export const int64 = (value: bigint): number | bigint =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value;
/** `Json` does not name a bigint: only decoders meet one. */
export const int64Json = (value: bigint): Json => int64(value) as Json;

export const isInt64 = (value: unknown): value is number | bigint =>
  typeof value === 'bigint' ? value >= int64Min && value <= int64Max : Number.isSafeInteger(value);

/** Go's unstructured reader: whole numbers are int64 when they fit, else float64. */
function numberOf(value: unknown, source: string | undefined): unknown {
  if (typeof value !== 'number' || source === undefined) return value;
  if (!Number.isFinite(value))
    throw new DecodeError(`json: cannot unmarshal number ${source} into Go value of type float64`);
  if (Number.isSafeInteger(value) || !/^-?\d+$/.test(source)) return value;
  const whole = BigInt(source.length > 20 ? '9223372036854775808' : source);
  return isInt64(whole) ? whole : value;
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;
const revive: Reviver = (_, value, { source }) => numberOf(value, source);

/** Slower than JSON.parse: for texts that hold a number of sixteen digits, or one that no double holds. */
export const parseLongNumbers = (text: string): Json => JSON.parse(text, revive as never) as Json;

/** Sixteen digits where a number can begin; in a string it is a false alarm that costs time only. */
const longNumber = /(?:^|[:[,])\s*-?\d{16}/;

/** JSON.parse for what the server wrote itself. */
export const readJson = (text: string): Json =>
  longNumber.test(text) ? parseLongNumbers(text) : (JSON.parse(text) as Json);

/** The same in steps, for large texts. */
export const readJsonSteps = (text: string): Steps<Json> => parseSteps(text, readJson) as Steps<Json>;
