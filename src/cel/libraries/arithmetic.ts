// Sums, differences, products and quotients: of numbers that do not overflow, of times, of texts, bytes and lists.
import {
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  listOf,
  stringType,
  timestampType,
  typeParam,
  uintType,
} from '../cel-type.ts';
import type { FunctionDeclaration } from '../declarations.ts';
import { durationOf } from '../duration.ts';
import { addToTimestamp, timeBetween } from '../timestamp.ts';
import { CelError, CelList, Duration, noSuchOverload, Timestamp, Uint, type Value } from '../value.ts';

const intOverflow = new CelError('integer overflow');
const uintOverflow = new CelError('unsigned integer overflow');
const int = (value: bigint): Value => (BigInt.asIntN(64, value) === value ? value : intOverflow);
const uint = (value: bigint): Value => (BigInt.asUintN(64, value) === value ? new Uint(value) : uintOverflow);

interface Operation {
  readonly int?: (a: bigint, b: bigint) => bigint;
  readonly double?: (a: number, b: number) => number;
  /** Said of a right operand that is zero. */
  readonly byZero?: CelError;
  /** For what are not two numbers of one type; undefined where there is no such operation. */
  readonly other?: (a: Value, b: Value) => Value | undefined;
}

function applied(name: string, operation: Operation, a: Value, b: Value): Value {
  if (typeof a === 'bigint' && operation.int) {
    if (typeof b !== 'bigint') return noSuchOverload;
    return operation.byZero && b === 0n ? operation.byZero : int(operation.int(a, b));
  }
  if (typeof a === 'number' && operation.double)
    return typeof b === 'number' ? operation.double(a, b) : noSuchOverload;
  if (a instanceof Uint && operation.int) {
    if (!(b instanceof Uint)) return noSuchOverload;
    return operation.byZero && b.value === 0n ? operation.byZero : uint(operation.int(a.value, b.value));
  }
  return operation.other?.(a, b) ?? new CelError(`no such overload: ${name}`);
}

function sumOf(a: Value, b: Value): Value | undefined {
  if (typeof a === 'string') return typeof b === 'string' ? a + b : noSuchOverload;
  if (a instanceof CelList) return b instanceof CelList ? a.concat(b) : noSuchOverload;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? Uint8Array.of(...a, ...b) : noSuchOverload;
  if (a instanceof Duration) {
    if (b instanceof Duration) return durationOf(a.nanos + b.nanos);
    return b instanceof Timestamp ? addToTimestamp(b, a) : noSuchOverload;
  }
  if (a instanceof Timestamp) return b instanceof Duration ? addToTimestamp(a, b) : noSuchOverload;
  return undefined;
}

function differenceOf(a: Value, b: Value): Value | undefined {
  if (a instanceof Duration) return b instanceof Duration ? durationOf(a.nanos - b.nanos) : noSuchOverload;
  if (!(a instanceof Timestamp)) return undefined;
  if (b instanceof Duration) return addToTimestamp(a, new Duration(-b.nanos));
  return b instanceof Timestamp ? timeBetween(a, b) : noSuchOverload;
}

const binary = (
  name: string,
  signatures: readonly (readonly [id: string, a: CelType, b: CelType, result: CelType])[],
  operation: Operation,
): FunctionDeclaration => ({
  name,
  overloads: signatures.map(([id, a, b, result]) => ({ id, params: [a, b], result })),
  dispatch: (a, b) => applied(name, operation, a!, b!),
});
const alike = (id: string, type: CelType): [string, CelType, CelType, CelType] => [id, type, type, type];
const listOfA = listOf(typeParam('A'));

const addition: Operation = { int: (a, b) => a + b, double: (a, b) => a + b, other: sumOf };
export const addValues = (a: Value, b: Value): Value => applied('_+_', addition, a, b);

export const arithmetic: readonly FunctionDeclaration[] = [
  binary(
    '_+_',
    [
      alike('add_bytes', bytesType),
      alike('add_double', doubleType),
      alike('add_duration_duration', durationType),
      ['add_duration_timestamp', durationType, timestampType, timestampType],
      ['add_timestamp_duration', timestampType, durationType, timestampType],
      alike('add_int64', intType),
      alike('add_list', listOfA),
      alike('add_string', stringType),
      alike('add_uint64', uintType),
    ],
    addition,
  ),
  binary(
    '_-_',
    [
      alike('subtract_double', doubleType),
      alike('subtract_duration_duration', durationType),
      alike('subtract_int64', intType),
      ['subtract_timestamp_duration', timestampType, durationType, timestampType],
      ['subtract_timestamp_timestamp', timestampType, timestampType, durationType],
      alike('subtract_uint64', uintType),
    ],
    { int: (a, b) => a - b, double: (a, b) => a - b, other: differenceOf },
  ),
  binary(
    '_*_',
    [
      alike('multiply_double', doubleType),
      alike('multiply_int64', intType),
      alike('multiply_uint64', uintType),
    ],
    { int: (a, b) => a * b, double: (a, b) => a * b },
  ),
  binary(
    '_/_',
    [alike('divide_double', doubleType), alike('divide_int64', intType), alike('divide_uint64', uintType)],
    { int: (a, b) => a / b, double: (a, b) => a / b, byZero: new CelError('division by zero') },
  ),
  binary('_%_', [alike('modulo_int64', intType), alike('modulo_uint64', uintType)], {
    int: (a, b) => a % b,
    byZero: new CelError('modulus by zero'),
  }),
  {
    name: '-_',
    overloads: [
      { id: 'negate_double', params: [doubleType], result: doubleType },
      { id: 'negate_int64', params: [intType], result: intType },
    ],
    dispatch: (value) => {
      if (typeof value === 'bigint') return int(-value);
      if (typeof value === 'number') return -value;
      if (value instanceof Duration) return durationOf(-value.nanos);
      return new CelError('no such overload: -_');
    },
  },
];
