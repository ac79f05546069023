// Kubernetes' list library: sums, extremes, order and places of elements.
import {
  boolType,
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
import type { FunctionDeclaration, Library, Overload } from '../declarations.ts';
import { compareValues, equalValues } from '../equality.ts';
import { wentThrough } from '../library-costs.ts';
import { CelError, type CelList, Duration, Uint, type Value } from '../value.ts';
import { addValues } from './arithmetic.ts';

const a = typeParam('A');
const comparable: readonly (readonly [name: string, type: CelType])[] = [
  ['int', intType],
  ['uint', uintType],
  ['double', doubleType],
  ['bool', boolType],
  ['duration', durationType],
  ['timestamp', timestampType],
  ['string', stringType],
  ['bytes', bytesType],
];
const zeros: Readonly<Record<string, Value>> = {
  int: 0n,
  uint: new Uint(0n),
  double: 0,
  duration: new Duration(0n),
};

const sum =
  (zero: Value) =>
  (list: CelList): Value => {
    let result = zero;
    for (const element of list) {
      result = addValues(result, element);
      if (result instanceof CelError) return result;
    }
    return result;
  };

/** The first of those that none is before. */
const extreme =
  (name: string, isBetter: (order: number) => boolean) =>
  (list: CelList): Value => {
    let best: Value | undefined;
    for (const element of list) {
      const order = best === undefined ? 0 : compareValues(best, element);
      if (order instanceof CelError) return order;
      if (best === undefined || isBetter(order)) best = element;
    }
    return best === undefined ? new CelError(`${name} called on empty list`) : best;
  };

function isSorted(list: CelList): Value {
  for (let i = 1; i < list.size; i++) {
    const order = compareValues(list.at(i - 1), list.at(i));
    if (order instanceof CelError) return order;
    if (order > 0) return false;
  }
  return true;
}

function indexOf(list: CelList, element: Value): Value {
  for (let i = 0; i < list.size; i++) if (equalValues(list.at(i), element)) return BigInt(i);
  return -1n;
}
function lastIndexOf(list: CelList, element: Value): Value {
  for (let i = list.size - 1; i >= 0; i--) if (equalValues(list.at(i), element)) return BigInt(i);
  return -1n;
}

const forEach = (
  name: string,
  of: readonly (readonly [string, CelType])[],
  overload: (name: string, type: CelType) => Omit<Overload, 'member' | 'params'>,
): FunctionDeclaration => ({
  name,
  overloads: of.map(([typeName, type]) => ({
    ...overload(typeName, type),
    member: true,
    params: [listOf(type)],
  })),
  ...wentThrough,
});
const place = (
  name: string,
  id: string,
  call: (list: CelList, element: Value) => Value,
): FunctionDeclaration => ({
  name,
  overloads: [{ id, member: true, params: [listOf(a), a], result: intType, call }],
  ...wentThrough,
});

export const listsLibrary: Library = {
  name: 'kubernetes.lists',
  functions: [
    forEach('isSorted', comparable, (name) => ({
      id: `list_${name}_is_sorted_bool`,
      result: boolType,
      call: isSorted,
    })),
    forEach(
      'sum',
      comparable.filter(([name]) => Object.hasOwn(zeros, name)),
      (name, result) => ({
        id: `list_${name}_sum_${name}`,
        result,
        call: sum(zeros[name]!),
      }),
    ),
    forEach('max', comparable, (name, result) => ({
      id: `list_${name}_max_${name}`,
      result,
      call: extreme('max', (order) => order < 0),
    })),
    forEach('min', comparable, (name, result) => ({
      id: `list_${name}_min_${name}`,
      result,
      call: extreme('min', (order) => order > 0),
    })),
    place('indexOf', 'list_a_index_of_int', indexOf),
    place('lastIndexOf', 'list_a_last_index_of_int', lastIndexOf),
  ],
};
