// Optional values: `optional.of(x)`, `a.?b`, `orValue`, `optMap` and what goes with them.
import { copyExpr, type Expr, operators } from '../ast.ts';
import {
  boolType,
  type CelType,
  dynType,
  intType,
  listOf,
  mapOf,
  optionalOf,
  optionalType,
  stringType,
  typeParam,
} from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import type { Step } from '../frame.ts';
import { type ExprMaker, type Macro, MacroError } from '../macros.ts';
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  Optional,
  Timestamp,
  Uint,
  type Value,
  ValueList,
} from '../value.ts';
import { formatValue } from '../value-text.ts';

const key = typeParam('K');
const value = typeParam('V');
const optionalV = optionalOf(value);
const listOfV = listOf(value);
const mapOfKV = mapOf(key, value);

/** `optMap(x, e)` is `x.hasValue() ? optional.of(e) : optional.none()`, with the value under a name. */
const mapping = (name: string, wrap: (make: ExprMaker, result: Expr) => Expr): Macro => ({
  name,
  argumentCount: 2,
  receiver: true,
  expand: (make, target, [variable, result]) => {
    if (variable!.kind !== 'ident')
      throw new MacroError(variable!.at, `${name}() variable name must be a simple identifier`);
    const bound = make.bind(variable!.name, make.memberCall('value', copyExpr(target!)), result!);
    return make.call(
      operators.conditional,
      make.memberCall('hasValue', target!),
      wrap(make, bound),
      make.call('optional.none'),
    );
  },
});

const isZero = (given: Value): boolean => {
  if (given === null || given === false || given === '' || given === 0n || given === 0) return true;
  if (given instanceof Uint) return given.value === 0n;
  if (given instanceof Duration) return given.nanos === 0n;
  if (given instanceof Timestamp) return given.seconds === -62_135_596_800 && given.nanos === 0;
  if (given instanceof Uint8Array) return given.length === 0;
  return (given instanceof CelList || given instanceof CelMap) && given.size === 0;
};

function unwrapAll(list: CelList): Value {
  const values: Value[] = [];
  for (const element of list) {
    if (!(element instanceof Optional)) return new CelError(`value ${formatValue(element)} is not optional`);
    if (element.value !== undefined) values.push(element.value);
  }
  return new ValueList(values);
}

/** The right operand is evaluated when the left one is empty. */
const otherwise =
  (isWhole: boolean) =>
  ([left, right]: readonly Step[]): Step =>
  (frame) => {
    const first = left!(frame);
    if (!(first instanceof Optional)) return first;
    if (first.value === undefined) return right!(frame);
    return isWhole ? first : first.value;
  };

const single = (
  name: string,
  id: string,
  param: CelType,
  result: CelType,
  call: (given: never) => Value,
  member: boolean = true,
): FunctionDeclaration => ({ name, overloads: [{ id, member, params: [param], result, call }] });

const listEnd = (name: string, at: (size: number) => number): FunctionDeclaration =>
  single(name, `list_${name}`, listOfV, optionalV, (list: CelList) =>
    list.size === 0 ? Optional.none : new Optional(list.at(at(list.size))),
  );

const functions: readonly FunctionDeclaration[] = [
  single('optional.of', 'optional_of', value, optionalV, (given: Value) => new Optional(given), false),
  single(
    'optional.ofNonZeroValue',
    'optional_ofNonZeroValue',
    value,
    optionalV,
    (given: Value) => (isZero(given) ? Optional.none : new Optional(given)),
    false,
  ),
  {
    name: 'optional.none',
    overloads: [{ id: 'optional_none', params: [], result: optionalV, call: () => Optional.none }],
  },
  single('value', 'optional_value', optionalV, value, (given: Optional) =>
    given.value === undefined ? new CelError('optional.none() dereference') : given.value,
  ),
  single(
    'hasValue',
    'optional_hasValue',
    optionalV,
    boolType,
    (given: Optional) => given.value !== undefined,
  ),
  {
    name: 'or',
    overloads: [
      { id: 'optional_or_optional', member: true, params: [optionalV, optionalV], result: optionalV },
    ],
    lazy: otherwise(true),
  },
  {
    name: 'orValue',
    overloads: [{ id: 'optional_orValue_value', member: true, params: [optionalV, value], result: value }],
    lazy: otherwise(false),
  },
  {
    name: operators.optionalSelect,
    overloads: [{ id: 'select_optional_field', params: [dynType, stringType], result: optionalV }],
  },
  {
    name: operators.optionalIndex,
    overloads: [
      { id: 'list_optindex_optional_int', params: [listOfV, intType], result: optionalV },
      {
        id: 'optional_list_optindex_optional_int',
        params: [optionalOf(listOfV), intType],
        result: optionalV,
      },
      { id: 'map_optindex_optional_value', params: [mapOfKV, key], result: optionalV },
      { id: 'optional_map_optindex_optional_value', params: [optionalOf(mapOfKV), key], result: optionalV },
    ],
  },
  {
    name: operators.index,
    overloads: [
      { id: 'optional_list_index_int', params: [optionalOf(listOfV), intType], result: optionalV },
      { id: 'optional_map_index_value', params: [optionalOf(mapOfKV), key], result: optionalV },
    ],
  },
  listEnd('last', (size) => size - 1),
  listEnd('first', () => 0),
  single('optional.unwrap', 'optional_unwrap', listOf(optionalV), listOfV, unwrapAll, false),
  single('unwrapOpt', 'optional_unwrapOpt', listOf(optionalV), listOfV, unwrapAll),
];

export const optionalTypes: Library = {
  name: 'cel.lib.optional',
  functions,
  types: [optionalType],
  optionalSyntax: true,
  macros: [
    mapping('optMap', (make, result) => make.call('optional.of', result)),
    mapping('optFlatMap', (_make, result) => result),
  ],
};
