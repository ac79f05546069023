// Lists: Kubernetes' functions of them, CEL's own extension, and lists as sets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynType, listOf } from '../cel-type.ts';
import { compileExpression } from '../compile.ts';
import { assertCosts, assertValues, evaluated } from '../testing/expressions.ts';
import { CelError, ValueList } from '../value.ts';
import { kubernetesEnvironment } from './kubernetes.ts';

test('sums, extremes, order and places', () => {
  assertValues([
    ['[1, 2, 3].sum() + [].sum()', '6'],
    ['[1.5, 2.5].sum()', '4'],
    ['[duration("1m"), duration("1s")].sum()', '61s'],
    ['[9223372036854775807, 1].sum()', 'integer overflow'],
    ['[3, 1, 2].min() + [3, 1, 2].max()', '4'],
    ['["b", "a"].min() + ["b", "a"].max()', 'ab'],
    ['[1, 2].filter(x, x > 5).max()', 'max called on empty list'],
    ['[1, 1, 2].isSorted() && !["b", "a"].isSorted()', 'true'],
    ['[1, 2, 1].indexOf(1) * 10 + [1, 2, 1].lastIndexOf(1)', '2'],
    ['["a"].indexOf("b")', '-1'],
  ]);
});

test('slices, flat and sorted lists, ranges', () => {
  assertValues([
    ['[1, 2, 3, 4].slice(1, 3)', '[2, 3]'],
    ['[1].slice(0, 2)', 'cannot slice(0, 2), list is length 1'],
    ['[1].slice(1, 0)', 'cannot slice(1, 0), start index must be less than or equal to end index'],
    ['[1].slice(-1, 0)', 'cannot slice(-1, 0), negative indexes not supported'],
    ['[[1, 2], [3]].flatten()', '[1, 2, 3]'],
    ['[[[1]], [[2]]].flatten(1) == [[1], [2]] && [[[1]], [[2]]].flatten(5) == [1, 2]', 'true'],
    ['[3, 1, 2].sort() + [2, 1].reverse()', '[1, 2, 3, 1, 2]'],
    ['["bb", "a"].sortBy(x, x.size())', '[a, bb]'],
    ['[1, 2, 1].distinct()', '[1, 2]'],
    ['lists.range(3)', '[0, 1, 2]'],
    ['lists.range(9000000000)', 'operation cancelled: actual cost limit exceeded'],
  ]);
  assert.match(
    String(compileExpression('[[1]].sort()', kubernetesEnvironment)),
    /found no matching overload for 'sort' applied to 'list\(list\(int\)\)\.\(\)'/,
  );
});

test('lists as sets', () => {
  assertValues([
    ['sets.contains([1, 2], [2]) && !sets.contains([1], [2])', 'true'],
    ['sets.equivalent([1, 2, 2], [2, 1]) && !sets.equivalent([1], [1, 2])', 'true'],
    ['sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [])', 'true'],
  ]);
});

test('what compares each element with each is paid before it is done', () => {
  const environment = kubernetesEnvironment.extend({ variables: { l: listOf(dynType) } });
  const l = new ValueList(Array.from({ length: 200_000 }, (_, i) => new ValueList([BigInt(i)])));
  for (const text of ['l.distinct()', 'sets.contains(l, l)', 'sets.equivalent(l, l)']) {
    const compiled = compileExpression(text, environment);
    assert.ok('program' in compiled);
    const { value } = compiled.program().run({ l }, { cost: 1_000_000 });
    assert.ok(value instanceof CelError);
    assert.equal(value.message, 'operation cancelled: actual cost limit exceeded', text);
  }
});

test('what lists cost', () => {
  assertCosts(
    [
      ['[1, 2, 3].sum()', 3, 13],
      ['lists.range(3)', 3 + 11, 14],
      ['[1, 2].reverse()', 2 + 11, 10 + 2 + 11],
      ['sets.contains([1, 2], [1])', 3, 23],
    ].map(([text, cost, most]) => [text as string, cost as number, most as number]),
  );
  assert.equal(evaluated('[2, 1].sort()').cost, 2 * 4 + 11);
});
