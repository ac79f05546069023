// Lists as sets: one within another, the same, or with something in common.
import { boolType, listOf, typeParam } from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { equalValues } from '../equality.ts';
import { fixed, plus, scaled, times } from '../estimate.ts';
import { type CelList, valueSize } from '../value.ts';

const list = listOf(typeParam('T'));

const has = (set: CelList, element: Parameters<typeof equalValues>[0]): boolean => {
  for (const one of set) if (equalValues(one, element)) return true;
  return false;
};
const contains = (set: CelList, part: CelList): boolean => [...part].every((element) => has(set, element));
const intersects = (a: CelList, b: CelList): boolean => [...a].some((element) => has(b, element));

const relation = (
  name: string,
  rounds: number,
  call: (a: CelList, b: CelList) => boolean,
): FunctionDeclaration => ({
  name: `sets.${name}`,
  overloads: [{ id: `list_sets_${name}_list`, params: [list, list], result: boolType, call }],
  paidFirst: true,
  cost: ([a, b]) => 1 + valueSize(a!) * valueSize(b!) * rounds,
  estimate: ({ args: [a, b], sizeOf }) =>
    a && b && { cost: plus(scaled(times(sizeOf(a), sizeOf(b)), rounds), fixed(1)) },
});

export const setsLibrary: Library = {
  name: 'cel.lib.ext.sets',
  functions: [
    relation('contains', 1, contains),
    relation('equivalent', 2, (a, b) => contains(a, b) && contains(b, a)),
    relation('intersects', 1, intersects),
  ],
};
