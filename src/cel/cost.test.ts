// What expressions may cost before they run: both bounds, with sizes that are known and that are not.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boolType, bytesType, intType, listOf, mapOf, stringType } from './cel-type.ts';
import { Environment, languageLibraries } from './environment.ts';
import { type SizeHints, unlimited } from './estimate.ts';
import { bindings } from './libraries/bindings.ts';
import { checkedExpression } from './testing/expressions.ts';
import { ValueList, ValueMap } from './value.ts';

const environment = new Environment({
  libraries: [...languageLibraries, bindings],
  variables: {
    b: boolType,
    i: intType,
    s: stringType,
    bytes: bytesType,
    l: listOf(stringType),
    m: mapOf(stringType, listOf(intType)),
  },
});
const sizes: Readonly<Record<string, number>> = {
  s: 100,
  bytes: 50,
  l: 10,
  'l.@items': 20,
  m: 5,
  'm.@keys': 8,
  'm.@values': 4,
};
const hints: SizeHints = ({ path }) => {
  const most = sizes[path?.join('.') ?? ''];
  return most === undefined ? undefined : { min: 0, max: most };
};

test('bounds follow the parts, and the sizes that a schema gives', () => {
  const table: [text: string, min: number, max: number][] = [
    ['1 + 2', 1, 1],
    ['i', 1, 1],
    ['m.a', 2, 2],
    ['has(m.a)', 1, 1],
    ['b && i > 1', 1, 3],
    ['b ? i : i + 1', 2, 3],
    ['[1, i]', 11, 11],
    ['{"a": i}', 31, 31],
    ['s == "abcd"', 2, 2],
    ['s + s', 2, 22],
    ['s.startsWith("0123456789abc")', 3, 3],
    ['s.contains("0123456789a")', 1, 21],
    ['s.matches("0123456789")', 4, 1 + 11 * 3],
    ['bytes(s) == bytes', 3, 1 + 10 + 1 + 5],
    ['i in [1, 2, 3]', 14, 14],
    ['l.all(x, x.size() > 1)', 2, 2 + 10 * 6],
    ['l.all(x, x == "0123456789abcdef")', 2, 2 + 10 * (2 + 1 + 1 + 2)],
    ['l.map(x, x + "0123456789")', 12, 1 + 10 + 10 * (1 + 10 + 1 + 3 + 1) + 1],
    ['m.all(k, m[k].all(v, v > 0))', 2, 2 + 5 * (2 + 1 + 3 + 4 * 5 + 1)],
    ['m.all(k, v, v.size() > 0)', 2, 2 + 5 * 6],
    ['cel.bind(x, s + s, x + x)', 10 + 2 + 2, 10 + 22 + 2 + 40],
    ['l[0] == s', 4, 3 + 2],
  ];
  for (const [text, min, max] of table)
    assert.deepEqual(checkedExpression(text, environment).estimate(hints), { min, max }, text);
});

test('what nobody knows the size of may cost anything, and sums stay within bounds', () => {
  const most = (text: string): number => checkedExpression(text, environment).estimate().max;
  assert.equal(most('l.all(x, l.all(y, l.all(z, x == y && y == z)))'), unlimited);
  assert.ok(most('s.contains(s)') > 1e30 || most('s.contains(s)') === unlimited);
  assert.equal(most('l.all(x, true)'), unlimited);
});

test('a run costs no more than the most that was estimated', () => {
  const texts = Array.from({ length: 10 }, (_, i) => 'x'.repeat(2 * i));
  const variables = {
    b: true,
    i: 1n,
    s: 'x'.repeat(100),
    l: new ValueList(texts),
    m: ValueMap.of([['a', new ValueList([1n, 2n])]]),
  };
  for (const text of [
    's.contains("xy") || l.exists(x, x == s)',
    'l.map(x, x + s).filter(y, y.size() > 3).size() > 2',
    'm.all(k, m[k].all(v, v > i))',
    'l.all(x, l.exists_one(y, x == y)) && (b ? s : s + s).startsWith(l[9])',
  ]) {
    const checked = checkedExpression(text, environment);
    const { value, cost } = checked.program().run(variables);
    assert.equal(typeof value, 'boolean', text);
    assert.ok(cost <= checked.estimate(hints).max, `${text}: ${cost}`);
  }
});
