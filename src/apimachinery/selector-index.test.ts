// A selector of many terms means the same by key as term by term, and an object costs what its own labels cost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { array, assert as check, constantFrom, dictionary, property, record } from 'fast-check';
import { matchesFieldSelector, parseFieldSelector } from './field-selector.ts';
import { matchesRequirement, newRequirement, type Operator } from './label-requirement.ts';
import { matchesSelector, parseLabelSelector } from './label-selector.ts';
import { indexIfLarge, matchesIndex } from './selector-index.ts';

const key = constantFrom('a', 'b', 'c', 'd');
const value = constantFrom('', '1', '2', '10', 'x');
const operator = constantFrom<Operator[]>('=', '==', '!=', 'in', 'notin', 'exists', '!', 'gt', 'lt');
const labels = dictionary(key, value);

test('many terms are tried by key with the same answer', () => {
  const term = record({ key, operator, values: array(value, { minLength: 1, maxLength: 3 }) }).map((t) =>
    newRequirement(
      t.key,
      t.operator,
      t.operator === 'exists' || t.operator === '!'
        ? []
        : t.operator === 'gt' || t.operator === 'lt'
          ? [t.values[0] === '' || t.values[0] === 'x' ? '5' : t.values[0]!]
          : t.operator === 'in' || t.operator === 'notin'
            ? t.values
            : [t.values[0]!],
    ),
  );
  /** Terms that say nothing of these labels, so that there are many. */
  const padding = parseLabelSelector(Array.from({ length: 20 }, (_, i) => `!absent${i}`).join(','));
  check(
    property(array(term, { maxLength: 6 }), labels, (terms, of) => {
      const index = indexIfLarge([...padding.requirements, ...terms]);
      assert.equal(
        matchesIndex(index!, of),
        terms.every((one) => matchesRequirement(one, of)),
      );
    }),
    { seed: 22, numRuns: 2_000 },
  );
});

test('hundreds of terms look at the labels that an object has, once each', () => {
  const text = Array.from({ length: 160 }, (_, i) => `!absent${i},k notin (v${i})`).join(',');
  const selector = parseLabelSelector(text);
  let reads = 0;
  const watched = (of: Record<string, string>): Record<string, string> =>
    new Proxy(of, {
      get: (target, name) => {
        reads++;
        return target[name as string];
      },
      has: () => assert.fail('only what is there is asked for'),
    });
  assert.equal(matchesSelector(selector, watched({ k: 'other', l: 'x' })), true);
  assert.equal(matchesSelector(selector, watched({ k: 'v17' })), false);
  assert.ok(reads <= 3, `${reads} reads`);
});

test('many terms on fields mean the same as one after the other', () => {
  const term = record({ field: key, operator: constantFrom('=', '!='), value });
  check(
    property(array(term, { maxLength: 5 }), labels, (terms, of) => {
      const padding = Array.from({ length: 20 }, (_, i) => `e!=v${i}`);
      const text = [...padding, ...terms.map((t) => `${t.field}${t.operator}${t.value}`)].join(',');
      const selector = parseFieldSelector(text);
      assert.notEqual(selector.byField, undefined);
      assert.equal(
        matchesFieldSelector(selector, of),
        terms.every((t) => ((of[t.field] ?? '') === t.value) === (t.operator === '=')),
      );
    }),
    { seed: 23, numRuns: 2_000 },
  );
});

test('a selector has at most 500 requirements and values', () => {
  const terms = (count: number): string => Array.from({ length: count }, (_, i) => `!a${i}`).join(',');
  assert.equal(parseLabelSelector(terms(500)).requirements.length, 500);
  const tooMany = /the limit is 500 requirements and values in one selector/;
  assert.throws(() => parseLabelSelector(terms(501)), tooMany);
  const values = Array.from({ length: 500 }, (_, i) => `v${i}`).join(',');
  assert.throws(() => parseLabelSelector(`a in (${values})`), tooMany);
  assert.throws(
    () => parseFieldSelector(Array.from({ length: 501 }, (_, i) => `a!=${i}`).join(',')),
    /the limit is 500 terms in one field selector/,
  );
});
