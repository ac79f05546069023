// The standard library of CEL: operators, sizes, texts. Conversions and times are in files of their own.
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  listType,
  mapOf,
  mapType,
  nullType,
  stringType,
  timestampType,
  typeParam,
  typeType,
  uintType,
} from '../cel-type.ts';
import type { FunctionDeclaration, Library, Overload } from '../declarations.ts';
import { compareValues, equalValues, withoutOrder } from '../equality.ts';
import { standardMacros } from '../macros.ts';
import { ask, refuseNoPattern } from '../patterns.ts';
import {
  CelError,
  CelList,
  CelMap,
  codePointCount,
  noSuchOverload,
  type Value,
  valueSize,
} from '../value.ts';
import { arithmetic } from './arithmetic.ts';
import { conversions } from './conversions.ts';
import { timeFunctions } from './times.ts';

const a = typeParam('A');
const b = typeParam('B');
const listOfA = listOf(a);
const mapOfAB = mapOf(a, b);

const logical = (name: string, id: string): FunctionDeclaration => ({
  name,
  overloads: [{ id, params: [boolType, boolType], result: boolType }],
});
const equality = (name: string, id: string): FunctionDeclaration => ({
  name,
  overloads: [{ id, params: [a, a], result: boolType }],
});

const numbers: readonly (readonly [string, CelType])[] = [
  ['int64', intType],
  ['uint64', uintType],
  ['double', doubleType],
];
/** Of one type each, and of any two numbers. */
function orderingOverloads(prefix: string): Overload[] {
  const same = (name: string, type: CelType): Overload => ({
    id: `${prefix}_${name}`,
    params: [type, type],
    result: boolType,
  });
  const mixed = numbers.flatMap(([left, type]) => [
    same(left, type),
    ...numbers
      .filter(([right]) => right !== left)
      .sort(([x], [y]) => (x === 'double' ? -1 : y === 'double' ? 1 : 0))
      .map(([right, other]) => ({
        id: `${prefix}_${left}_${right}`,
        params: [type, other],
        result: boolType,
      })),
  ]);
  return [
    same('bool', boolType),
    ...mixed,
    same('string', stringType),
    same('bytes', bytesType),
    same('timestamp', timestampType),
    same('duration', durationType),
  ];
}
const ordering = (name: string, id: string, holds: (order: number) => boolean): FunctionDeclaration => ({
  name,
  overloads: orderingOverloads(id),
  dispatch: (left, right) => {
    const order = compareValues(left!, right!);
    if (order === withoutOrder) return new CelError(`no such overload: ${name}`);
    return order instanceof CelError ? order : holds(order);
  },
});

function isIn(element: Value, container: Value): Value {
  if (container instanceof CelMap) {
    const found = container.find(element);
    return found instanceof CelError ? found : found !== undefined;
  }
  if (!(container instanceof CelList)) return noSuchOverload;
  for (let i = 0; i < container.size; i++) if (equalValues(element, container.at(i))) return true;
  return false;
}

const sized: readonly (readonly [string, CelType])[] = [
  ['bytes', bytesType],
  ['list', listOfA],
  ['map', mapOfAB],
  ['string', stringType],
];
const size: FunctionDeclaration = {
  name: 'size',
  overloads: sized.flatMap(([name, type]) => [
    { id: `size_${name}`, params: [type], result: intType },
    { id: `${name}_size`, member: true, params: [type], result: intType },
  ]),
  dispatch: (value) => {
    if (typeof value === 'string') return BigInt(codePointCount(value));
    const isSized = value instanceof CelList || value instanceof CelMap || value instanceof Uint8Array;
    return isSized ? BigInt(valueSize(value)) : new CelError('no such overload: size');
  },
};

const textTest = (
  name: string,
  id: string,
  test: (text: string, other: string) => boolean,
): FunctionDeclaration => ({
  name,
  overloads: [{ id, member: true, params: [stringType, stringType], result: boolType }],
  dispatch: (text, other) =>
    typeof text === 'string' && typeof other === 'string' ? test(text, other) : noSuchOverload,
});

const matched = (text: Value | undefined, pattern: Value | undefined): Value => {
  if (typeof text !== 'string') return new CelError('no such overload: matches');
  if (typeof pattern !== 'string') return noSuchOverload;
  return ask(pattern, text, (compiled) => compiled.matches(text));
};

const matches: FunctionDeclaration = {
  name: 'matches',
  overloads: [
    { id: 'matches', params: [stringType, stringType], result: boolType },
    { id: 'matches_string', member: true, params: [stringType, stringType], result: boolType },
  ],
  specialize: refuseNoPattern,
  dispatch: matched,
};

const functions: readonly FunctionDeclaration[] = [
  { name: '_?_:_', overloads: [{ id: 'conditional', params: [boolType, a, a], result: a }] },
  logical('_&&_', 'logical_and'),
  logical('_||_', 'logical_or'),
  {
    name: '!_',
    overloads: [{ id: 'logical_not', params: [boolType], result: boolType }],
    dispatch: (value) => (typeof value === 'boolean' ? !value : noSuchOverload),
  },
  {
    name: '@not_strictly_false',
    overloads: [{ id: 'not_strictly_false', params: [boolType], result: boolType }],
    nonStrict: true,
    dispatch: (value) => (typeof value === 'boolean' ? value : true),
  },
  equality('_==_', 'equals'),
  equality('_!=_', 'not_equals'),
  ...arithmetic,
  ordering('_<_', 'less', (order) => order < 0),
  ordering('_<=_', 'less_equals', (order) => order <= 0),
  ordering('_>_', 'greater', (order) => order > 0),
  ordering('_>=_', 'greater_equals', (order) => order >= 0),
  {
    name: '_[_]',
    overloads: [
      { id: 'index_list', params: [listOfA, intType], result: a },
      { id: 'index_map', params: [mapOfAB, a], result: b },
    ],
  },
  {
    name: '@in',
    overloads: [
      { id: 'in_list', params: [a, listOfA], result: boolType },
      { id: 'in_map', params: [a, mapOfAB], result: boolType },
    ],
    dispatch: (element, container) => isIn(element!, container!),
  },
  size,
  ...conversions,
  textTest('contains', 'contains_string', (text, other) => text.includes(other)),
  textTest('endsWith', 'ends_with_string', (text, other) => text.endsWith(other)),
  textTest('startsWith', 'starts_with_string', (text, other) => text.startsWith(other)),
  matches,
  ...timeFunctions,
];

export const standardLibrary: Library = {
  name: 'cel.lib.std',
  functions,
  macros: standardMacros,
  types: [
    ...[boolType, bytesType, doubleType, durationType, intType, listType, mapType, nullType],
    ...[stringType, timestampType, typeType, uintType, dynType],
  ],
};
