// Durations to the nanosecond, as Go reads and writes them.

import { plainDecimal } from './decimal.ts';
import { CelError, Duration } from './value.ts';

const unitNanos: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const second = 1_000_000_000n;

/** At one place. */
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

export const isInt64Value = (value: bigint): boolean => BigInt.asIntN(64, value) === value;

/** Go's time.ParseDuration; undefined for what is none. */
export function parseDuration(text: string): Duration | undefined {
  const sign = /^[-+]/.exec(text)?.[0] ?? '';
  const rest = text.slice(sign.length);
  if (rest === '0') return new Duration(0n);
  if (rest === '') return undefined;
  let sum = 0n;
  for (let at = 0; at < rest.length; ) {
    part.lastIndex = at;
    const [found, whole, fraction, unit] = part.exec(rest) ?? [];
    if (found === undefined || (whole === '' && (fraction ?? '') === '')) return undefined;
    const nanos = unitNanos[unit!]!;
    sum += BigInt(whole === '' ? '0' : whole!) * nanos;
    // More digits than a nanosecond has say nothing.
    const digits = (fraction ?? '').slice(0, 18);
    if (digits !== '') sum += (BigInt(digits) * nanos) / 10n ** BigInt(digits.length);
    at += found.length;
  }
  const value = sign === '-' ? -sum : sum;
  return isInt64Value(value) ? new Duration(value) : undefined;
}

/** `1.5s`: always in seconds. */
export const formatDuration = ({ nanos }: Duration): string =>
  `${plainDecimal(Number(nanos / second) + Number(nanos % second) / 1e9)}s`;

/** Whole ones, towards zero. */
export const wholeUnits = ({ nanos }: Duration, unit: 'h' | 'm' | 's' | 'ms'): bigint =>
  nanos / unitNanos[unit]!;

/** An error beyond 292 years. */
export const durationOf = (nanos: bigint): Duration | CelError =>
  isInt64Value(nanos) ? new Duration(nanos) : new CelError('integer overflow');
