// Costs that Kubernetes gives to functions of its libraries, as they ran and as they are estimated.
import type { CelType } from './cel-type.ts';
import {
  type CallEstimate,
  type CallSite,
  type CostNode,
  type Estimate,
  fixed,
  plus,
  regexFactor,
  scaled,
  times,
  traversalFactor,
} from './estimate.ts';
import { matchCost } from './patterns.ts';
import { CelList, CelMap, type Value, valueSize } from './value.ts';

/** Both sides of what a call costs. */
export interface CallCosts {
  readonly cost: (args: readonly Value[], result: Value, overload: string) => number | undefined;
  readonly estimate: (call: CallSite) => CallEstimate | undefined;
}

/** A look at a field, or at a few of them. */
export const nominal: CallCosts = { cost: () => 1, estimate: () => ({ cost: fixed(1) }) };

/** The receiver, or the first argument of what has none. */
const subject = ({ target, args }: CallSite): CostNode | undefined => target ?? args[0];

/** The text is read so many times. `keeps`: the result is no longer than it. */
export const readingCosts = (rounds: number, keeps: boolean = false): CallCosts => ({
  cost: ([text]) => Math.ceil(valueSize(text!) * rounds * traversalFactor),
  estimate: (call) => {
    const node = subject(call);
    if (!node) return undefined;
    const size = call.sizeOf(node);
    return { cost: scaled(size, rounds * traversalFactor), size: keeps ? size : undefined };
  },
});

/** A pattern is looked for. */
export const searchedText: CallCosts = {
  cost: ([text, pattern]) =>
    typeof text === 'string' && typeof pattern === 'string' ? matchCost(text, pattern) : undefined,
  estimate: ({ target, args, sizeOf }) => {
    if (!target || !args[0]) return undefined;
    const size = sizeOf(target);
    const text = scaled(plus(size, fixed(1)), traversalFactor);
    const pattern = scaled(sizeOf(args[0]), regexFactor);
    return { cost: times(text, pattern), size: { min: 0, max: size.max } };
  },
};

/** An encoder would take longer for a short text than all else that is done with it. */
function utf8Length(text: string): number {
  let length = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) continue;
    // A pair of surrogates is four bytes; one alone is written as U+FFFD.
    const isPair = (code & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00;
    if (isPair) i++;
    length += code < 0x800 ? 1 : 2;
  }
  return length;
}

/** Each element is looked at; of an object each key and value. */
function traversalCost(value: Value): number {
  if (typeof value === 'string') return Math.floor(utf8Length(value) * traversalFactor);
  if (value instanceof Uint8Array) return Math.floor(value.length * traversalFactor);
  let sum = 0;
  if (value instanceof CelList) for (const element of value) sum += traversalCost(element);
  else if (value instanceof CelMap)
    for (const key of value.keys()) sum += traversalCost(key) + traversalCost(value.find(key)!);
  else return 1;
  return sum;
}

/** What is known of the elements of a list. */
export function elementOf({ path, type }: CostNode): CostNode | undefined {
  const element: CelType | undefined = type.params[0];
  if (!element) return undefined;
  return { path: path && [...path, '@items'], type: element, expr: undefined, computedSize: undefined };
}

/** A list is gone through once; so is a text in which another is looked for. */
export const wentThrough: CallCosts = {
  cost: ([list]) => traversalCost(list!),
  estimate: ({ target, sizeOf }) => {
    if (!target) return undefined;
    const element = elementOf(target);
    if (!element) return { cost: scaled(sizeOf(target), traversalFactor) };
    const isText = element.type.kind === 'string' || element.type.kind === 'bytes';
    const each = isText ? plus(fixed(1), scaled(sizeOf(element), traversalFactor)) : fixed(1);
    return { cost: times(sizeOf(target), each) };
  },
};

/** Of a list that is made: with the call itself and the list. */
const madeList = (factor: number, size: Estimate): CallEstimate => ({
  cost: plus(scaled(size, factor), fixed(11)),
  size,
});
export const madeListCosts = (
  factor: (args: readonly Value[]) => number,
  size: (args: readonly Value[], result: Value) => number,
  estimated: (call: CallSite) => readonly [factor: number, size: Estimate] | undefined,
): CallCosts => ({
  cost: (args, result) => Math.floor(size(args, result) * factor(args)) + 11,
  estimate: (call) => {
    const found = estimated(call);
    return found && madeList(...found);
  },
});
