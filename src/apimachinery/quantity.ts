// Resource quantities (`500m`, `1Gi`, `1e3`), exact: a whole number of nano units and the family of its suffix.

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  /** The value times 10^9. Upstream's smallest unit, so nothing is lost. */
  readonly nano: bigint;
  readonly format: QuantityFormat;
  /** As it was written, where upstream shows it so and not in its canonical form. */
  readonly text?: string;
}

export const quantityFormatError: string =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const numericError = 'unable to parse numeric part of quantity';
const suffixError = "unable to parse quantity's suffix";

const decimalExponents: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
});
const binaryExponents: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  Ki: 10,
  Mi: 20,
  Gi: 30,
  Ti: 40,
  Pi: 50,
  Ei: 60,
});
const decimalSuffixes = new Map(Object.entries(decimalExponents).map(([suffix, e]) => [e, suffix]));
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const billion = 1_000_000_000n;
/** Upstream caps binary quantities at the largest int64. */
const maxBinary = (2n ** 63n - 1n) * billion;
/** Beyond this a number has no use but to fill memory. */
const maxExponent = 300;
const maxTextLength = 512;

const shape = /^([+-]?)([0-9]*)(?:\.([0-9]*))?((?:[eEinumkKMGTP]+[-+]?[0-9]*|[-+][0-9]*)?)$/;

/** Throws Error with upstream's text. A JSON number is taken as its text. */
export function parseQuantity(input: string | number): Quantity {
  const text = typeof input === 'number' ? String(input) : input.trim();
  // Upstream trims what stands in the JSON, where these are escapes.
  const isTrimmable = text.length === String(input).length || !/[\t-\r]/.test(String(input));
  const parts = text === '' || !isTrimmable || text.length > maxTextLength ? null : shape.exec(text);
  if (parts === null) throw new Error(quantityFormatError);
  const [, sign = '', digits = '', fraction = '', suffix = ''] = parts;
  const { base, exponent, format } = interpretSuffix(suffix);
  const whole = digits.replace(/^0+/, '') || '0';
  const isShort = fitsInt64(whole, fraction, base, exponent);
  // As upstream: no digits at all are zero, unless the number would have to be a long one.
  if (digits === '' && fraction === '' && !isShort) throw new Error(numericError);
  const magnitude = scaled(BigInt(whole + fraction), fraction.length, base, exponent);
  const capped = format === 'BinarySI' && magnitude > maxBinary ? maxBinary : magnitude;
  return {
    nano: sign === '-' ? -capped : capped,
    format: format === 'BinarySI' && capped > 0n && capped < billion ? 'DecimalSI' : format,
    ...(isShort && isKept(whole, fraction, base, exponent) ? { text } : {}),
  };
}

/** Those that upstream reads at once, without a long number. */
const fitsInt64 = (whole: string, fraction: string, base: 2 | 10, exponent: number): boolean =>
  base === 10
    ? whole.length + fraction.length <= 18 && exponent - fraction.length >= -9
    : fraction === '' && whole.length + (exponent * 3) / 10 <= 14;

/** Upstream takes these for canonical: `1.025`, `1E3`, `+5` and `007` among them. */
function isKept(whole: string, fraction: string, base: 2 | 10, exponent: number): boolean {
  if (base === 2) return (BigInt(whole) & 7n) !== 0n;
  const shifted = whole + fraction;
  return (exponent - fraction.length) % 3 === 0 && !shifted.startsWith('0') && !shifted.endsWith('000');
}

function interpretSuffix(suffix: string): { base: 2 | 10; exponent: number; format: QuantityFormat } {
  const decimal = decimalExponents[suffix];
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' };
  const binary = binaryExponents[suffix];
  if (binary !== undefined) return { base: 2, exponent: binary, format: 'BinarySI' };
  if (/^[eE][-+]?[0-9]+$/.test(suffix)) {
    const exponent = Number(suffix.slice(1));
    if (exponent > maxExponent) throw new Error(suffixError);
    return {
      base: 10,
      exponent: Math.max(exponent, -maxExponent - maxTextLength),
      format: 'DecimalExponent',
    };
  }
  throw new Error(suffixError);
}

/** digits × 10^-decimals × base^exponent in nano units, rounded away from zero. */
function scaled(digits: bigint, decimals: number, base: 2 | 10, exponent: number): bigint {
  if (base === 2) return divideUp(digits * billion * (1n << BigInt(exponent)), 10n ** BigInt(decimals));
  const power = 9 + exponent - decimals;
  return power >= 0 ? digits * 10n ** BigInt(power) : divideUp(digits, 10n ** BigInt(-power));
}

function divideUp(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  return quotient * denominator === numerator ? quotient : quotient + (numerator < 0n ? -1n : 1n);
}

/** The same few amounts are asked for again and again, several times for each write of a pod. */
const known = new Map<string | number, Quantity | undefined>();
const maxKnown = 512;
const maxKnownLength = 24;

/** undefined where `parseQuantity` throws. */
export function tryParseQuantity(input: unknown): Quantity | undefined {
  if (typeof input !== 'string' && typeof input !== 'number') return undefined;
  const found = known.get(input);
  if (found !== undefined || known.has(input)) return found;
  let parsed: Quantity | undefined;
  try {
    parsed = parseQuantity(input);
  } catch {
    parsed = undefined;
  }
  if (typeof input === 'string' && input.length > maxKnownLength) return parsed;
  if (known.size >= maxKnown) known.clear();
  known.set(input, parsed);
  return parsed;
}

export const isZeroQuantity = (q: Quantity): boolean => q.nano === 0n;
/** Rounded away from zero to a whole number. */
export const quantityValue = (q: Quantity): number => Number(divideUp(q.nano, billion));
/** Thousandths, rounded away from zero: how CPU is counted. */
export const milliValue = (q: Quantity): number => Number(divideUp(q.nano, 1_000_000n));

export const quantityOf = (value: number, format: QuantityFormat = 'DecimalSI'): Quantity => ({
  nano: BigInt(value) * billion,
  format,
});
export const zeroQuantity: Quantity = { nano: 0n, format: 'DecimalSI' };

export const compareQuantities = (a: Quantity, b: Quantity): -1 | 0 | 1 =>
  a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0;
/** As upstream: the sum keeps the first one's format, unless that is zero. */
export const addQuantities = (a: Quantity, b: Quantity): Quantity => ({
  nano: a.nano + b.nano,
  format: a.nano === 0n ? b.format : a.format,
});
/** As it was written where that is kept, else the one canonical text: no fraction, the largest suffix that loses nothing. */
export function formatQuantity(q: Quantity): string {
  if (q.text !== undefined) return q.text;
  if (q.nano === 0n) return '0';
  if (q.format === 'BinarySI') {
    const small = q.nano > -1024n * billion && q.nano < 1024n * billion;
    if (!small && q.nano % billion === 0n) return formatBinary(q.nano / billion);
    return formatDecimal(q.nano, 'DecimalSI');
  }
  return formatDecimal(q.nano, q.format);
}

function formatBinary(value: bigint): string {
  let rest = value;
  let power = 0;
  while (power < binarySuffixes.length - 1 && rest % 1024n === 0n) {
    rest /= 1024n;
    power++;
  }
  return `${rest}${binarySuffixes[power]}`;
}

function formatDecimal(nano: bigint, format: 'DecimalSI' | 'DecimalExponent'): string {
  let rest = nano;
  let exponent = -9;
  while (rest % 1000n === 0n && (format === 'DecimalExponent' || exponent < 18)) {
    rest /= 1000n;
    exponent += 3;
  }
  if (format === 'DecimalSI') return `${rest}${decimalSuffixes.get(exponent) ?? ''}`;
  return exponent === 0 ? String(rest) : `${rest}e${exponent}`;
}

/** `0.5` → `500m`, `1024Mi` → `1Gi`, `1.125` as it is: what the API server stores and shows. Throws as parseQuantity. */
export function canonicalizeQuantity(input: string | number): string {
  // The common shapes are canonical already: digits that do not end in zeros before a suffix.
  if (typeof input === 'string' && /^[1-9][0-9]{0,2}(?:m|Mi|Gi)?$/.test(input)) return input;
  return formatQuantity(parseQuantity(input));
}

/** Equal as numbers; texts that are no quantities are equal only when identical. */
export function quantitiesEqual(a: string | number, b: string | number): boolean {
  if (a === b) return true;
  const [x, y] = [tryParseQuantity(a), tryParseQuantity(b)];
  return x !== undefined && y !== undefined && x.nano === y.nano;
}
