// Objects with selectors, asked about many others: the same answers as of a selector that is made, for less.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countReads } from '../base/testing/counted-reads.ts';
import { type LabelSelectorObject, matchesObject, matchesSelector, selectorFrom } from './label-selector.ts';

const expression = (key: string, operator: string, ...values: string[]) => ({
  matchExpressions: [{ key, operator, values }],
});

test('a selector object matches as the selector that is made of it', () => {
  const selectors: (LabelSelectorObject | undefined)[] = [
    undefined,
    {},
    { matchLabels: { a: '1' } },
    { matchLabels: { a: '1', b: '2' } },
    { matchLabels: { a: '1' }, ...expression('b', 'Exists') },
    { matchLabels: { a: '1' }, ...expression('b', 'DoesNotExist') },
    expression('a', 'In', '1', '2'),
    expression('a', 'NotIn', '1', '2'),
    expression('c', 'NotIn', '1'),
    expression('constructor', 'Exists'),
  ];
  for (const selector of selectors)
    for (const labels of [undefined, {}, { a: '1' }, { a: '2', b: '2' }, { a: '1', b: '2' }, { b: '' }])
      assert.equal(
        matchesObject(selector, labels),
        matchesSelector(selectorFrom(selector), labels),
        JSON.stringify([selector, labels]),
      );
});

test('an operator that is none matches nothing', () => {
  for (const operator of ['in', 'exists', 'Gt', 'constructor', ''])
    assert.equal(matchesObject(expression('a', operator, '1'), { a: '1' }), false, operator);
});

test('thousands of labels, expressions and values are not read for each object that is asked about', () => {
  const counted = countReads(1000);
  const keys = Array.from({ length: 2000 }, (_, i) => `k${i}`);
  const matchLabels = counted.of(Object.fromEntries(keys.map((key) => [key, 'x'] as const)));
  const values = counted.of(keys);
  const selectors: LabelSelectorObject[] = [
    { matchLabels },
    { matchExpressions: [{ key: 'a', operator: 'In', values }] },
  ];
  for (let i = 0; i < 100; i++)
    for (const selector of selectors) assert.equal(matchesObject(selector, { k0: `${i}` }), false);
});
