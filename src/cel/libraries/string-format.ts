// `'%s is %.2f'.format([...])`: the clauses of CEL's string extension, with its messages.
import { type Expr, subexpressions } from '../ast.ts';
import { CelType, type TypeKind } from '../cel-type.ts';
import { formatDouble } from '../decimal.ts';
import { formatDuration } from '../duration.ts';
import type { Issues } from '../source.ts';
import { formatTimestamp } from '../timestamp.ts';
import { CelError, CelList, CelMap, Duration, runtimeType, Timestamp, Uint, type Value } from '../value.ts';

/** Go's words of what can't be formatted; caught where the whole begins. */
class FormatError extends Error {}

const defaultPrecision = 6;
const clauses = 'sdfexXob';

export function formatText(format: string, args: CelList): Value {
  try {
    return formatted(format, args);
  } catch (error) {
    if (error instanceof FormatError) return new CelError(error.message);
    throw error;
  }
}

function formatted(format: string, args: CelList): string {
  let result = '';
  let next = 0;
  for (const part of partsOf(format, args.size))
    result += typeof part === 'string' ? part : clauseText(part, args.at(next++));
  return result;
}

/** Texts and clauses, as they are read: what is wrong with one is thrown behind those before it. */
function* partsOf(format: string, argumentCount: number): Generator<string | Clause> {
  let next = 0;
  for (let at = 0; at < format.length; ) {
    if (format[at] !== '%') {
      const end = format.indexOf('%', at);
      yield format.slice(at, end === -1 ? undefined : end);
      at = end === -1 ? format.length : end;
    } else if (format[at + 1] === '%') {
      yield '%';
      at += 2;
    } else {
      if (at + 1 >= format.length) throw new FormatError('unexpected end of string');
      if (next >= argumentCount) throw new FormatError(`index ${next} out of range`);
      next++;
      const clause = readClause(format, at + 1);
      yield clause;
      at = clause.end;
    }
  }
}

interface Clause {
  readonly letter: string;
  readonly precision: number;
  readonly end: number;
}

function readClause(format: string, at: number): Clause {
  const found = /^(?:\.(\d+))?/.exec(format.slice(at, at + 8))!;
  const precision = found[1] === undefined ? defaultPrecision : Number(found[1]);
  const end = at + found[0].length;
  const letter = format[end];
  if (letter === undefined)
    throw new FormatError('could not parse formatting clause: unexpected end of string');
  if (precision > 1_000)
    throw new FormatError('could not parse formatting clause: precision specifier too large');
  if (!clauses.includes(letter))
    throw new FormatError(`could not parse formatting clause: unrecognized formatting clause "${letter}"`);
  return { letter, precision, end: end + 1 };
}

/** What a clause can show, by letters; `dyn` it finds out when it runs. */
const shows: Readonly<Record<string, { readonly kinds: readonly TypeKind[]; readonly only: string }>> = {
  s: {
    kinds: [
      ...(['list', 'map', 'int', 'uint', 'double', 'bool', 'string', 'timestamp', 'bytes'] as const),
      ...(['duration', 'type', 'null'] as const),
    ],
    only: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  },
  d: { kinds: ['int', 'uint'], only: 'decimal clause can only be used on integers' },
  f: { kinds: ['double', 'string'], only: 'fixed-point clause can only be used on doubles' },
  e: { kinds: ['double', 'string'], only: 'scientific clause can only be used on doubles' },
  b: { kinds: ['int', 'uint', 'bool'], only: 'only integers and bools can be formatted as binary' },
  x: {
    kinds: ['int', 'uint', 'string', 'bytes'],
    only: 'only integers, byte buffers, and strings can be formatted as hex',
  },
  o: { kinds: ['int', 'uint'], only: 'octal clause can only be used on integers' },
};
const refusal = (letter: string, type: CelType): string =>
  `error during formatting: ${shows[letter.replace('X', 'x')]!.only}, was given ${type.name}`;
const failed = (letter: string, value: Value): never => {
  throw new FormatError(refusal(letter, runtimeType(value)));
};

/** A constant format with arguments that are written down is looked at before it runs. */
export function validateFormat(expr: Expr, issues: Issues): void {
  if (expr.kind !== 'call' || expr.resolved?.overloads.includes('string_format') !== true) return;
  const [list] = expr.args;
  if (expr.target?.kind !== 'literal' || typeof expr.target.value !== 'string' || list?.kind !== 'list')
    return;
  const { elements } = list;
  let next = 0;
  try {
    for (const part of partsOf(expr.target.value, elements.length)) {
      if (typeof part === 'string') continue;
      const wrong = unfit(part.letter, elements[next++]!);
      if (!wrong) continue;
      issues.report(wrong.at, refusal(part.letter, wrong.type!));
      return;
    }
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    issues.report(expr.at, error.message);
    return;
  }
  if (elements.length > next)
    issues.report(
      expr.at,
      `too many arguments supplied to string.format (expected ${next}, got ${elements.length})`,
    );
}

/** The argument, or what in it the clause cannot show. */
function unfit(letter: string, expr: Expr): Expr | undefined {
  const { kinds } = shows[letter.replace('X', 'x')]!;
  const { kind } = expr.type!;
  if (kind !== 'dyn' && !kinds.includes(kind)) return expr;
  if (letter !== 's' || (expr.kind !== 'list' && expr.kind !== 'map')) return undefined;
  for (const inner of subexpressions(expr)) {
    const found = unfit('s', inner);
    if (found) return found;
  }
  return undefined;
}

function clauseText({ letter, precision }: Clause, value: Value): string {
  switch (letter) {
    case 's':
      return asText(value);
    case 'd':
      return asDecimal(value);
    case 'f':
      return asDouble(value, 'f', (number) => withCommas(fixedPoint(number, precision)));
    case 'e':
      return asDouble(value, 'e', (number) => scientific(number, precision));
    case 'b':
      return asBinary(value);
    case 'o':
      return isInteger(value) ? integer(value).toString(8) : failed('o', value);
    default:
      return letter === 'X' ? asHex(value).toUpperCase() : asHex(value);
  }
}

const isInteger = (value: Value): value is bigint | Uint =>
  typeof value === 'bigint' || value instanceof Uint;
const integer = (value: bigint | Uint): bigint => (value instanceof Uint ? value.value : value);

const asDecimal = (value: Value): string => (isInteger(value) ? String(integer(value)) : failed('d', value));

function asBinary(value: Value): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (isInteger(value)) return integer(value).toString(2);
  return failed('b', value);
}

function asHex(value: Value): string {
  if (isInteger(value)) return integer(value).toString(16);
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  if (bytes instanceof Uint8Array)
    return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return failed('x', value);
}

const special: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};
function asDouble(value: Value, clause: string, shown: (value: number) => string): string {
  const number = typeof value === 'string' && Object.hasOwn(special, value) ? special[value]! : value;
  if (typeof number !== 'number') return failed(clause, value);
  if (Number.isNaN(number)) return 'NaN';
  if (!Number.isFinite(number)) return number > 0 ? '∞' : '-∞';
  return shown(number);
}

/** Halves go to the even neighbour, as in Go; JavaScript takes them up. */
function fixedPoint(value: number, precision: number): string {
  const digits = Math.min(precision, 75);
  const long = value.toFixed(digits + 25);
  const kept = long.slice(0, -25).replace(/\.$/, '');
  const isHalf = long.endsWith(`5${'0'.repeat(24)}`);
  return isHalf && /[02468]$/.test(kept) ? kept : value.toFixed(digits);
}

/** English: thousands are set apart. */
function withCommas(text: string): string {
  const [whole, fraction] = text.split('.') as [string, string?];
  const digits = whole.replace('-', '');
  const groups: string[] = [];
  for (let end = digits.length; end > 0; end -= 3) groups.unshift(digits.slice(Math.max(0, end - 3), end));
  const sign = whole.startsWith('-') ? '-' : '';
  return `${sign}${groups.join(',')}${fraction === undefined ? '' : `.${fraction}`}`;
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';
/** English as well: `1.5×10⁰³`. */
function scientific(value: number, precision: number): string {
  const [mantissa, exponent] = value.toExponential(Math.min(precision, 100)).split('e') as [string, string];
  const digits = String(Math.abs(Number(exponent))).padStart(2, '0');
  const raised = [...digits].map((digit) => superscripts[Number(digit)]).join('');
  return `${mantissa}×10${Number(exponent) < 0 ? '⁻' : ''}${raised}`;
}

function asText(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === null) return 'null';
  if (typeof value === 'number') return formatDouble(value);
  if (typeof value !== 'object') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof CelType) return value.name;
  if (value instanceof CelList) return `[${[...value].map(member).join(', ')}]`;
  if (value instanceof CelMap) return mapText(value);
  return failed('s', value);
}

function mapText(map: CelMap): string {
  const entries = [...map.keys()].map((key) => [member(key), member(map.find(key)!)] as const);
  entries.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(', ')}}`;
}

/** Within a list or map: texts in quotes, doubles with six decimals. */
function member(value: Value): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (Number.isNaN(value)) return '"NaN"';
    return Number.isFinite(value) ? value.toFixed(defaultPrecision) : value > 0 ? '"+Inf"' : '"-Inf"';
  }
  if (value instanceof Uint8Array) return `b${JSON.stringify(asText(value))}`;
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(asText(value))})`;
  if (value instanceof Duration) return `duration(${JSON.stringify(asText(value))})`;
  return asText(value);
}
