// Macros with two variables: index and element of a list, key and value of a map.
import type { Expr } from '../ast.ts';
import { mapOf, typeParam } from '../cel-type.ts';
import type { Library } from '../declarations.ts';
import type { GrowingMap } from '../growing.ts';
import {
  type ExprMaker,
  foldAll,
  foldExists,
  foldExistsOne,
  foldFiltered,
  type Macro,
  MacroError,
  variableName,
} from '../macros.ts';
import { type CelError, CelMap, type Value } from '../value.ts';

const insert = 'cel.@mapInsert';
const notAName = 'argument must be a simple name';

function loopOf(target: Expr, first: Expr, second: Expr) {
  for (const arg of [first, second]) if (arg.kind !== 'ident') throw new MacroError(arg.at, notAName);
  if ((first as { name?: string }).name === (second as { name?: string }).name)
    throw new MacroError(second.at, `duplicate variable name: ${variableName(first, notAName)}`);
  return {
    range: target,
    iterVar: variableName(first, notAName),
    iterVar2: variableName(second, notAName),
  };
}

type FoldOf = (make: ExprMaker, loop: ReturnType<typeof loopOf>, predicate: Expr) => Expr;
const quantifier = (name: string, fold: FoldOf): Macro => ({
  name,
  argumentCount: 3,
  receiver: true,
  expand: (make, target, [first, second, predicate]) =>
    fold(make, loopOf(target!, first!, second!), predicate!),
});

/** With and without a filter before the last argument. */
const transformation = (
  name: string,
  init: (make: ExprMaker) => Expr,
  step: (make: ExprMaker, key: string, transform: Expr) => Expr,
): Macro[] =>
  [3, 4].map((argumentCount) => ({
    name,
    argumentCount,
    receiver: true,
    expand: (make, target, args) => {
      const loop = loopOf(target!, args[0]!, args[1]!);
      const filter = argumentCount === 4 ? args[2] : undefined;
      return foldFiltered(make, loop, init(make), filter, step(make, loop.iterVar, args.at(-1)!));
    },
  }));

const key = typeParam('K');
const value = typeParam('V');
const map = mapOf(key, value);

function insertAll(into: CelMap, from: CelMap): Value {
  for (const one of from.keys()) {
    const result = inserted(into, one, from.find(one)!);
    if (!(result instanceof CelMap)) return result;
  }
  return into;
}
const inserted = (into: CelMap, at: Value, what: Value): Value | CelError =>
  (into as GrowingMap).insert(at, what);

export const twoVariableComprehensions: Library = {
  name: 'cel.lib.ext.comprev2',
  functions: [
    {
      name: insert,
      overloads: [
        { id: 'cel_@mapInsert_map_key_value', params: [map, key, value], result: map, call: inserted },
        { id: 'cel_@mapInsert_map_map', params: [map, map], result: map, call: insertAll },
      ],
    },
  ],
  macros: [
    quantifier('all', foldAll),
    quantifier('exists', foldExists),
    quantifier('existsOne', foldExistsOne),
    quantifier('exists_one', foldExistsOne),
    ...transformation(
      'transformList',
      (make) => make.list(),
      (make, _key, transform) => make.call('_+_', make.accumulated(), make.list(transform)),
    ),
    ...transformation(
      'transformMap',
      (make) => make.map(),
      (make, name, transform) => make.call(insert, make.accumulated(), make.ident(name), transform),
    ),
    ...transformation(
      'transformMapEntry',
      (make) => make.map(),
      (make, _key, transform) => make.call(insert, make.accumulated(), transform),
    ),
  ],
};
