// How two values of a library's own type are compared: the same three functions for each such type.
import { boolType, type CelType, intType } from '../cel-type.ts';
import type { FunctionDeclaration } from '../declarations.ts';
import { nominal } from '../library-costs.ts';
import type { Value } from '../value.ts';

/** `prefix` begins the names of the overloads: `semver`. */
export function comparisonsOf<T extends Value>(
  type: CelType,
  prefix: string,
  order: (a: T, b: T) => number,
): readonly FunctionDeclaration[] {
  const comparison = (
    name: string,
    id: string,
    result: CelType,
    call: (order: number) => Value,
  ): FunctionDeclaration => ({
    name,
    overloads: [
      {
        id: `${prefix}_${id}`,
        member: true,
        params: [type, type],
        result,
        call: (a: T, b: T) => call(order(a, b)),
      },
    ],
    ...nominal,
  });
  return [
    comparison('isGreaterThan', 'is_greater_than', boolType, (found) => found > 0),
    comparison('isLessThan', 'is_less_than', boolType, (found) => found < 0),
    comparison('compareTo', 'compare_to', intType, (found) => BigInt(found)),
  ];
}
