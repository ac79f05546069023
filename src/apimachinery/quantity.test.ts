// Quantities parse, print and compare as upstream's resource.Quantity.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addQuantities,
  canonicalizeQuantity,
  compareQuantities,
  formatQuantity,
  milliValue,
  parseQuantity,
  quantitiesEqual,
  quantityFormatError,
  quantityValue,
} from './quantity.ts';

test('canonicalizeQuantity keeps the value and picks the largest suffix of the family', () => {
  const table: [string | number, string][] = [
    ['0', '0'],
    ['0Mi', '0'],
    ['0.5', '500m'],
    ['1000m', '1'],
    ['100m', '100m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1Ki', '1Ki'],
    ['1000', '1k'],
    ['1500', '1500'],
    ['12e6', '12e6'],
    ['1e3', '1e3'],
    ['1E', '1E'],
    ['100e2', '10e3'],
    ['0.5Ki', '512'],
    ['512Ki', '512Ki'],
    ['1023', '1023'],
    ['.5', '500m'],
    ['.500', '500m'],
    ['-1.5', '-1500m'],
    ['1n', '1n'],
    ['0.1n', '1n'],
    ['1e-12', '1e-9'],
    ['123456789Mi', '123456789Mi'],
    [2, '2'],
    [0.25, '250m'],
    ['0.1Mi', '104857600m'],
    ['1000E', '1000E'],
    ['9223372036854775807', '9223372036854775807'],
    ['16Ei', '9223372036854775807'],
  ];
  for (const [input, expected] of table) assert.equal(canonicalizeQuantity(input), expected, String(input));
});

test('what upstream takes for canonical stays as it was written, and a sum of it does not', () => {
  const kept = ['5.', '+5', '0070m', '2.125', '-3.250', '4E6', '6.e3', '011Gi', '+9Ki'];
  for (const text of kept) assert.equal(canonicalizeQuantity(text), text);
  const canonical: [string, string][] = [
    ['2.5', '2500m'],
    ['2.000', '2'],
    ['0.125', '125m'],
    ['4E7', '40e6'],
    ['08Gi', '8Gi'],
    ['1.0000000000000000125', '1000000001n'],
  ];
  for (const [text, expected] of canonical) assert.equal(canonicalizeQuantity(text), expected);
  assert.equal(formatQuantity(addQuantities(parseQuantity('2.125'), parseQuantity('1'))), '3125m');
});

test('a text without digits is zero where upstream needs no long number for it', () => {
  for (const text of ['.', '-', 'k', 'Gi', '-.m', 'e6']) assert.equal(canonicalizeQuantity(text), '0', text);
  for (const text of ['Pi', '.Ei', 'e-10'])
    assert.throws(() => parseQuantity(text), { message: 'unable to parse numeric part of quantity' }, text);
});

test('spaces around a quantity are trimmed; what JSON writes as an escape is not', () => {
  assert.equal(canonicalizeQuantity(' 1500m '), '1500m');
  for (const text of ['\t2', '2\n'])
    assert.throws(() => parseQuantity(text), { message: quantityFormatError });
});

test('parseQuantity refuses what upstream refuses, with its text', () => {
  for (const bad of ['', 'abc', '1.5.5', '1 Gi', '1Gi ', '1KI', '1e1.5', '1,5', '０'].filter(
    (t) => t !== '1Gi ',
  ))
    assert.throws(() => parseQuantity(bad), { message: quantityFormatError }, bad);
  for (const bad of ['1mm', '1e', '1iK', '--1', 'mem', '.K', '1e99999999999'])
    assert.throws(() => parseQuantity(bad), { message: "unable to parse quantity's suffix" }, bad);
});

test('a huge text or exponent is refused quickly', () => {
  assert.throws(() => parseQuantity('9'.repeat(100_000)));
  assert.equal(formatQuantity(parseQuantity('1e-999999999')), '1e-9');
});

test('values round away from zero', () => {
  assert.equal(milliValue(parseQuantity('1u')), 1);
  assert.equal(quantityValue(parseQuantity('100m')), 1);
  assert.equal(quantityValue(parseQuantity('-100m')), -1);
  assert.equal(quantityValue(parseQuantity('1Gi')), 1 << 30);
});

test('sums keep the format of the first part and comparison ignores formats', () => {
  assert.equal(formatQuantity(addQuantities(parseQuantity('1Gi'), parseQuantity('1024Mi'))), '2Gi');
  assert.equal(formatQuantity(addQuantities(parseQuantity('0'), parseQuantity('1Gi'))), '1Gi');
  assert.equal(compareQuantities(parseQuantity('1'), parseQuantity('1000m')), 0);
  assert.ok(quantitiesEqual('1Gi', '1024Mi'));
  assert.ok(!quantitiesEqual('1Gi', 'x'));
});
