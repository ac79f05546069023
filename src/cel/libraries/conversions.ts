// Conversions: `int('7')`, `string(1.5)`, `timestamp('2026-01-01T00:00:00Z')`, `type(x)`, `dyn(x)`.
import {
  boolType,
  bytesType,
  CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  stringType,
  timestampType,
  typeOf,
  typeParam,
  uintType,
} from '../cel-type.ts';
import { formatDouble } from '../decimal.ts';
import type { FunctionDeclaration } from '../declarations.ts';
import { formatDuration, isInt64Value, parseDuration } from '../duration.ts';
import { formatTimestamp, parseTimestamp, timestampOf } from '../timestamp.ts';
import { CelError, Duration, runtimeType, Timestamp, Uint, type Value } from '../value.ts';

const intOverflow = new CelError('integer overflow');
const uintOverflow = new CelError('unsigned integer overflow');
const mostUint = 2n ** 64n - 1n;

const refused = (value: Value, to: CelType): CelError =>
  new CelError(`type conversion error from '${runtimeType(value).name}' to '${to.name}'`);

function toInt(value: Value): Value {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number')
    return value > -(2 ** 63) && value < 2 ** 63 ? BigInt(Math.trunc(value)) : intOverflow;
  if (value instanceof Uint) return isInt64Value(value.value) ? value.value : intOverflow;
  if (value instanceof Duration) return value.nanos;
  if (value instanceof Timestamp) return BigInt(value.seconds);
  if (typeof value !== 'string' || !/^[+-]?\d{1,30}$/.test(value)) return refused(value, intType);
  const parsed = BigInt(value.replace(/^\+/, ''));
  return isInt64Value(parsed) ? parsed : refused(value, intType);
}

function toUint(value: Value): Value {
  if (value instanceof Uint) return value;
  if (typeof value === 'bigint') return value >= 0n ? new Uint(value) : uintOverflow;
  if (typeof value === 'number')
    return value >= 0 && value < 2 ** 64 ? new Uint(BigInt(Math.trunc(value))) : uintOverflow;
  if (typeof value !== 'string' || !/^\d{1,30}$/.test(value)) return refused(value, uintType);
  const parsed = BigInt(value);
  return parsed <= mostUint ? new Uint(parsed) : refused(value, uintType);
}

const infinite = /^([+-]?)(?:inf|infinity)$/i;
/** Decimal; Go reads hexadecimal floats as well, which nobody writes. */
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

function toDouble(value: Value): Value {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (typeof value !== 'string') return refused(value, doubleType);
  const infinity = infinite.exec(value);
  if (infinity) return infinity[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (/^nan$/i.test(value)) return Number.NaN;
  const parsed = decimal.test(value) ? Number(value) : Number.POSITIVE_INFINITY;
  return Number.isFinite(parsed) ? parsed : refused(value, doubleType);
}

const truths = ['1', 't', 'T', 'TRUE', 'true', 'True'];
const falsehoods = ['0', 'f', 'F', 'FALSE', 'false', 'False'];
function toBool(value: Value): Value {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && truths.includes(value)) return true;
  return typeof value === 'string' && falsehoods.includes(value) ? false : refused(value, boolType);
}

function toBytes(value: Value): Value {
  if (value instanceof Uint8Array) return value;
  return typeof value === 'string' ? new TextEncoder().encode(value) : refused(value, bytesType);
}

function decoded(bytes: Uint8Array): Value {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

function toText(value: Value): Value {
  if (typeof value === 'string') return value;
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return formatDouble(value);
  if (value === null) return 'null';
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return decoded(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  return value instanceof CelType ? value.name : refused(value, stringType);
}

function toTimestamp(value: Value): Value {
  if (value instanceof Timestamp) return value;
  if (typeof value === 'bigint') return timestampOf(Number(value), 0);
  const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined;
  return parsed ?? refused(value, timestampType);
}

function toDuration(value: Value): Value {
  if (value instanceof Duration) return value;
  const parsed = typeof value === 'string' ? parseDuration(value) : undefined;
  return parsed ?? refused(value, durationType);
}

const sources: Readonly<Record<string, CelType>> = {
  bool: boolType,
  bytes: bytesType,
  double: doubleType,
  duration: durationType,
  int64: intType,
  string: stringType,
  timestamp: timestampType,
  uint64: uintType,
};
const conversion = (
  name: string,
  target: string,
  from: readonly string[],
  convert: (value: Value) => Value,
): FunctionDeclaration => ({
  name,
  overloads: from.map((source) => ({
    id: `${source}_to_${target}`,
    params: [sources[source]!],
    result: sources[target]!,
    call: convert,
  })),
});

const a = typeParam('A');

export const conversions: readonly FunctionDeclaration[] = [
  {
    name: 'type',
    overloads: [{ id: 'type', params: [a], result: typeOf(a) }],
    dispatch: (value) => runtimeType(value!),
  },
  conversion('bool', 'bool', ['bool', 'string'], toBool),
  conversion('bytes', 'bytes', ['bytes', 'string'], toBytes),
  conversion('double', 'double', ['double', 'int64', 'string', 'uint64'], toDouble),
  conversion('duration', 'duration', ['duration', 'int64', 'string'], toDuration),
  {
    name: 'dyn',
    overloads: [{ id: 'to_dyn', params: [a], result: dynType }],
    dispatch: (value) => value!,
  },
  conversion('int', 'int64', ['int64', 'double', 'duration', 'string', 'timestamp', 'uint64'], toInt),
  conversion(
    'string',
    'string',
    ['string', 'bool', 'bytes', 'double', 'duration', 'int64', 'timestamp', 'uint64'],
    toText,
  ),
  conversion('timestamp', 'timestamp', ['timestamp', 'int64', 'string'], toTimestamp),
  conversion('uint', 'uint64', ['uint64', 'double', 'int64', 'string'], toUint),
];
