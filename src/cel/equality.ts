// When two values of CEL are the same, and which comes first. Numbers compare by what they are worth, whatever their types.
import { CelType } from './cel-type.ts';
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  noSuchOverload,
  Opaque,
  Optional,
  Timestamp,
  Uint,
  type Value,
} from './value.ts';

const order = <T extends bigint | number>(a: T, b: T): -1 | 0 | 1 => (a < b ? -1 : a > b ? 1 : 0);

/** Of bytes, and of texts as their UTF-8 would be. */
function compareBytes(a: Uint8Array, b: Uint8Array): -1 | 0 | 1 {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) if (a[i] !== b[i]) return a[i]! < b[i]! ? -1 : 1;
  return order(a.length, b.length);
}

/** UTF-16 sorts surrogates before U+E000; code points, as UTF-8 does, after. */
const rank = (unit: number): number =>
  unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
function compareTexts(a: string, b: string): -1 | 0 | 1 {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (x !== y) return rank(x) < rank(y) ? -1 : 1;
  }
  return order(a.length, b.length);
}

const isNumeric = (value: Value): value is bigint | number | Uint =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;
const plainNumber = (value: bigint | number | Uint): bigint | number =>
  value instanceof Uint ? value.value : value;

/** undefined where one is no number. An int beside a double is compared as upstream does: as a double. */
function compareNumbers(a: bigint | number | Uint, b: bigint | number | Uint): -1 | 0 | 1 {
  const [x, y] = [plainNumber(a), plainNumber(b)];
  if (typeof x === typeof y) return order(x as bigint, y as bigint);
  return order(Number(x), Number(y));
}

/** Of values that have no order, whatever the other is. */
export const withoutOrder: CelError = new CelError('no such overload');

/** Negative, zero or positive; an error for what has no order. */
export function compareValues(a: Value, b: Value): number | CelError {
  if (isNumeric(a)) {
    if (!isNumeric(b)) return noSuchOverload;
    if (Number.isNaN(a) || Number.isNaN(b)) return new CelError('NaN values cannot be ordered');
    return compareNumbers(a, b);
  }
  if (typeof a === 'string') return typeof b === 'string' ? compareTexts(a, b) : noSuchOverload;
  if (typeof a === 'boolean') return typeof b === 'boolean' ? Number(a) - Number(b) : noSuchOverload;
  if (a instanceof Timestamp)
    return b instanceof Timestamp ? order(a.seconds, b.seconds) || order(a.nanos, b.nanos) : noSuchOverload;
  if (a instanceof Duration) return b instanceof Duration ? order(a.nanos, b.nanos) : noSuchOverload;
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? compareBytes(a, b) : noSuchOverload;
  return withoutOrder;
}

/** False for values of different types; there is no error. */
export function equalValues(a: Value, b: Value): boolean {
  if (a === b) return !Number.isNaN(a);
  if (isNumeric(a)) return isNumeric(b) && !Number.isNaN(a) && !Number.isNaN(b) && compareNumbers(a, b) === 0;
  if (a === null || typeof a !== 'object') return false;
  if (a instanceof CelList) return b instanceof CelList && equalLists(a, b);
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b);
  if (a instanceof Optional)
    return (
      b instanceof Optional &&
      (a.value === undefined || b.value === undefined ? a.value === b.value : equalValues(a.value, b.value))
    );
  if (a instanceof CelType) return b instanceof CelType && a.name === b.name;
  if (a instanceof Opaque) return a.equalTo(b);
  return compareValues(a, b) === 0;
}

function equalLists(a: CelList, b: CelList): boolean {
  if (a.size !== b.size) return false;
  const own = a.equalTo(b);
  if (own !== undefined) return own;
  for (let i = 0; i < a.size; i++) if (!equalValues(a.at(i), b.at(i))) return false;
  return true;
}

function equalMaps(a: CelMap, b: CelMap): boolean {
  if (a.size !== b.size) return false;
  const own = a.equalTo(b);
  if (own !== undefined) return own;
  for (const key of a.keys()) {
    const other = b.find(key);
    if (other === undefined || !equalValues(a.find(key)!, other)) return false;
  }
  return true;
}
