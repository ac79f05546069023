// CEL's own list extension: slices, flat and sorted lists, ranges.
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  stringType,
  timestampType,
  typeParam,
  uintType,
} from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { compareValues, equalValues } from '../equality.ts';
import {
  type CallSite,
  type CostNode,
  type Estimate,
  fixed,
  times,
  traversalFactor,
  unlimited,
} from '../estimate.ts';
import { madeListCosts } from '../library-costs.ts';
import { type Macro, MacroError, standardMacros } from '../macros.ts';
import { CelError, CelList, runtimeType, type Value, ValueList, valueSize } from '../value.ts';

const list = listOf(typeParam('T'));
const comparable: readonly CelType[] = [
  intType,
  uintType,
  doubleType,
  boolType,
  durationType,
  timestampType,
  stringType,
  bytesType,
];

function slice(from: CelList, start: bigint, end: bigint): Value {
  const refused = (why: string): CelError => new CelError(`cannot slice(${start}, ${end}), ${why}`);
  if (start < 0n || end < 0n) return refused('negative indexes not supported');
  if (start > end) return refused('start index must be less than or equal to end index');
  if (end > BigInt(from.size)) return refused(`list is length ${from.size}`);
  return new ValueList([...from].slice(Number(start), Number(end)));
}

function flatValues(from: CelList, depth: bigint): Value[] {
  return [...from].flatMap((element) =>
    element instanceof CelList && depth > 0n ? flatValues(element, depth - 1n) : [element],
  );
}
const flatten = (from: Value, depth: Value): Value => {
  if (!(from instanceof CelList) || typeof depth !== 'bigint') return new CelError('no such overload');
  return depth < 0n ? new CelError('level must be non-negative') : new ValueList(flatValues(from, depth));
};

/** Elements in the order of their keys. */
function sortBy(elements: CelList, keys: CelList): Value {
  if (elements.size !== keys.size)
    return new CelError(
      `@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got ${elements.size} and ${keys.size} elements respectively`,
    );
  const all = [...keys];
  if (all.some((key) => runtimeType(key).name !== runtimeType(all[0]!).name))
    return new CelError('list elements must have the same type');
  if (all.length > 0 && compareValues(all[0]!, all[0]!) instanceof CelError && !Number.isNaN(all[0]))
    return new CelError('list elements must be comparable');
  const order = all
    .map((_, i) => i)
    .sort((i, j) => {
      const compared = compareValues(all[i]!, all[j]!);
      return compared instanceof CelError ? 0 : compared;
    });
  return new ValueList(order.map((i) => elements.at(i)));
}

/** As many as the budget of a run could ever pay for. */
const longestRange = 1_000_000n;
function range(end: bigint): Value {
  if (end > longestRange) return new CelError('operation cancelled: actual cost limit exceeded');
  return new ValueList(Array.from({ length: Math.max(0, Number(end)) }, (_, i) => BigInt(i)));
}

function distinct(from: CelList): Value {
  const kept: Value[] = [];
  for (const element of from) if (!kept.some((one) => equalValues(element, one))) kept.push(element);
  return new ValueList(kept);
}

const constantOr = (node: CostNode | undefined, other: number): number => {
  const value = node?.expr?.kind === 'literal' ? node.expr.value : undefined;
  return typeof value === 'bigint' ? Math.max(0, Number(value)) : other;
};
const one = (): number => 1;
const resultSize = (_args: readonly Value[], result: Value): number => valueSize(result);

const sliceCosts = madeListCosts(one, resultSize, ({ target, args, sizeOf }) => {
  if (!target || args.length !== 2) return undefined;
  return [1, fixed(constantOr(args[1], sizeOf(target).max) - constantOr(args[0], 0))];
});
const flattenCosts = madeListCosts(
  ([, depth]) => Number(depth ?? 1n),
  ([from]) => valueSize(from!),
  ({ target, args, sizeOf }) =>
    target && [args.length === 1 ? constantOr(args[0], unlimited) : 1, sizeOf(target)],
);
const reverseCosts = madeListCosts(one, resultSize, ({ target, sizeOf }) => target && [1, sizeOf(target)]);
const rangeCosts = madeListCosts(one, resultSize, ({ args }) => [1, fixed(constantOr(args[0], unlimited))]);

const isText = ({ name }: CelType): boolean => name === 'string' || name === 'bytes';
const squared = (size: Estimate): Estimate => times(size, size);
/** Each with each other; `which` argument has what is compared. */
const compareCosts = (which: number, node: (call: CallSite) => CostNode | undefined) =>
  madeListCosts(
    (args) => {
      const keys = args[which];
      const hasTexts = keys instanceof CelList && keys.size > 0 && isText(runtimeType(keys.at(0)));
      return hasTexts ? 2 + traversalFactor : 2;
    },
    (args) => valueSize(args[which]!) ** 2,
    (call) => {
      const keys = node(call);
      if (!keys) return undefined;
      const hasTexts = /_(?:string|bytes)_sort/.test(call.overload);
      return [hasTexts ? 2 + traversalFactor : 2, squared(call.sizeOf(keys))];
    },
  );
const distinctCosts = compareCosts(0, ({ target }) => target);

const input = '@__sortBy_input__';
const sortByMacro: Macro = {
  name: 'sortBy',
  argumentCount: 2,
  receiver: true,
  expand: (make, target, args) => {
    if (!['list', 'select', 'ident', 'fold', 'call'].includes(target!.kind))
      throw new MacroError(
        target!.at,
        'sortBy can only be applied to a list, identifier, comprehension, call or select expression',
      );
    const map = standardMacros.find((macro) => macro.name === 'map' && macro.argumentCount === 2)!;
    const keys = map.expand(make, make.ident(input), args)!;
    return make.bind(input, target!, make.memberCall('@sortByAssociatedKeys', make.ident(input), keys));
  },
};

const functions: readonly FunctionDeclaration[] = [
  {
    name: 'slice',
    overloads: [
      { id: 'list_slice', member: true, params: [list, intType, intType], result: list, call: slice },
    ],
    ...sliceCosts,
  },
  {
    name: 'flatten',
    overloads: [
      {
        id: 'list_flatten',
        member: true,
        params: [listOf(list)],
        result: list,
        call: (from: Value) => flatten(from, 1n),
      },
      {
        id: 'list_flatten_int',
        member: true,
        params: [listOf(dynType), intType],
        result: listOf(dynType),
        call: flatten,
      },
    ],
    unguarded: true,
    ...flattenCosts,
  },
  {
    name: 'sort',
    overloads: comparable.map((type) => ({
      id: `list_${type.name}_sort`,
      member: true,
      params: [listOf(type)],
      result: listOf(type),
    })),
    dispatch: (from) =>
      from instanceof CelList ? sortBy(from, from) : new CelError('no such overload: sort'),
    paidFirst: true,
    ...compareCosts(0, ({ target }) => target),
  },
  {
    name: '@sortByAssociatedKeys',
    overloads: comparable.map((type) => ({
      id: `list_${type.name}_sortByAssociatedKeys`,
      member: true,
      params: [list, listOf(type)],
      result: list,
    })),
    dispatch: (elements, keys) =>
      elements instanceof CelList && keys instanceof CelList
        ? sortBy(elements, keys)
        : new CelError('no such overload: @sortByAssociatedKeys'),
    paidFirst: true,
    ...compareCosts(1, ({ args }) => args[0]),
  },
  {
    name: 'lists.range',
    overloads: [{ id: 'lists_range', params: [intType], result: listOf(intType), call: range }],
    ...rangeCosts,
  },
  {
    name: 'reverse',
    overloads: [
      {
        id: 'list_reverse',
        member: true,
        params: [list],
        result: list,
        call: (from: CelList) => new ValueList([...from].reverse()),
      },
    ],
    ...reverseCosts,
  },
  {
    name: 'distinct',
    overloads: [{ id: 'list_distinct', member: true, params: [list], result: list, call: distinct }],
    paidFirst: true,
    ...distinctCosts,
  },
];

export const extendedListsLibrary: Library = { name: 'cel.lib.ext.lists', functions, macros: [sortByMacro] };
