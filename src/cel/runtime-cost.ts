// What calls of the language's own functions cost as they ran, by overload; what is not here costs 1.
import { traversalFactor } from './estimate.ts';
import { matchCost } from './patterns.ts';
import { codePointCount, Opaque, type Value, valueSize } from './value.ts';

export type RuntimeCost = (args: readonly Value[], result: Value) => number;

const traversal = (size: number): number => Math.ceil(size * traversalFactor);
const first: RuntimeCost = (args) => traversal(valueSize(args[0]!));
const smaller: RuntimeCost = (args) => comparisonCost(args[0]!, args[1]!);
const both: RuntimeCost = (args) => traversal(valueSize(args[0]!) + valueSize(args[1]!));

/** Of the shorter one: the other is not read further. */
export function comparisonCost(a: Value, b: Value): number {
  if (typeof a !== 'string' && typeof a !== 'object') return 1;
  if (a instanceof Opaque) return 1;
  if (typeof a === 'string' && typeof b === 'string') return traversal(shorterOf(a, b));
  return traversal(Math.min(valueSize(a), valueSize(b)));
}

/** The size of the shorter text. A character is one or two units, so that the other is counted only when it may be that. */
function shorterOf(a: string, b: string): number {
  const [one, other] = a.length <= b.length ? [a, b] : [b, a];
  const size = codePointCount(one);
  return other.length >= 2 * size ? size : Math.min(size, codePointCount(other));
}

const costs: Readonly<Record<string, RuntimeCost>> = {
  starts_with_string: first,
  ends_with_string: first,
  string_to_bytes: first,
  bytes_to_string: first,
  strings_quote: first,
  string_format: first,
  in_list: (args) => valueSize(args[1]!),
  add_string: both,
  add_bytes: both,
  matches_string: ([text, pattern]) =>
    typeof text === 'string' && typeof pattern === 'string' ? matchCost(text, pattern) : 1,
  contains_string: (args) => first(args, null) * traversal(valueSize(args[1]!)),
};

/** undefined: 1. */
export function standardRuntimeCost(overload: string): RuntimeCost | undefined {
  if (/^(?:less|greater)_(?:equals_)?(?:string|bytes)$/.test(overload)) return smaller;
  return Object.hasOwn(costs, overload) ? costs[overload] : undefined;
}
