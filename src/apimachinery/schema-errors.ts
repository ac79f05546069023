// The errors of decoding: their texts are Go's, because clients print and match them.
import type { Json } from './declaration.ts';

/** A body that can't be read as its kind; `message` is what upstream prints after "cannot be handled as a Pod: ". */
export class DecodeError extends Error {
  /** The same of an object that is converted without being written as JSON. */
  readonly ofMap: string;
  constructor(message: string, ofMap: string = message) {
    super(message);
    this.name = 'DecodeError';
    this.ofMap = ofMap;
  }
}

/** Whole numbers are never written with an exponent. */
const digitsOf = (value: unknown): string =>
  Number.isInteger(value) ? BigInt(value as number).toString() : String(value);

/** How Go's encoding/json names a JSON value in its errors. */
export function goValueName(value: Json | undefined, withNumber = false): string {
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'bigint':
    case 'number':
      return withNumber ? `number ${digitsOf(value)}` : 'number';
    case 'boolean':
      return 'bool';
    default:
      return 'object';
  }
}

/** `json: cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool`. */
export function cannotUnmarshal(
  what: string,
  struct: string,
  path: readonly string[],
  goType: string,
  ofMap?: string,
): DecodeError {
  const where = struct === '' ? 'Go value' : `Go struct field ${struct}.${path.join('.')}`;
  return new DecodeError(`json: cannot unmarshal ${what} into ${where} of type ${goType}`, ofMap);
}
