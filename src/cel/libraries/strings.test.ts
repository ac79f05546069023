// Texts in code points, and the clauses of `format`.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynType, listOf, stringType } from '../cel-type.ts';
import { compileExpression } from '../compile.ts';
import { assertCosts, assertValues, evaluated } from '../testing/expressions.ts';
import { ValueList } from '../value.ts';
import { formatValue } from '../value-text.ts';
import { kubernetesEnvironment } from './kubernetes.ts';

test('places and parts of texts are counted in code points', () => {
  assertValues([
    ['"tacocat".charAt(3)', 'o'],
    ['"a😀b".charAt(2) + "ab".charAt(2)', 'b'],
    ['"ab".charAt(3)', 'index out of range: 3'],
    ['"a😀b😀".indexOf("😀") + "a😀b😀".indexOf("😀", 2) * 10', '31'],
    ['"abc".indexOf("z")', '-1'],
    ['"abc".indexOf("") + "abc".indexOf("", 2)', '2'],
    ['"abc".indexOf("a", -1)', 'index out of range: -1'],
    ['"a😀b😀c".lastIndexOf("😀") * 10 + "a😀b😀c".lastIndexOf("😀", 2)', '31'],
    ['"abcabc".lastIndexOf("abc", 4)', '3'],
    ['"abc".lastIndexOf("")', '3'],
    ['"a😀bc".substring(1, 3) + "abc".substring(2)', '😀bc'],
    ['"abc".substring(2, 1)', 'invalid substring range. start: 2, end: 1'],
    ['"abc".substring(4)', 'index out of range: 4'],
    ['"ÄbC".lowerAscii() + "äBc".upperAscii()', 'ÄbcäBC'],
    ['"\\u00a0 x\\t\\n".trim() + "|"', 'x|'],
    ['"\\ufeffx".trim().size()', '2'],
  ]);
});

test('texts are replaced, split, joined and quoted', () => {
  assertValues([
    ['"hello hello".replace("he", "we")', 'wello wello'],
    ['"hello hello".replace("he", "we", 1)', 'wello hello'],
    ['"hello".replace("l", "", -1) + "x".replace("x", "y", 0)', 'heox'],
    ['"ab".replace("", "-") + "ab".replace("", "-", 1)', '-a-b--ab'],
    ['"a,b,c".split(",")', '[a, b, c]'],
    ['"a,b,c".split(",", 2)', '[a, b,c]'],
    ['"a,b".split(",", 0).size() + "😀b".split("").size()', '2'],
    ['["a", "b"].join() + ["a", "b"].join("-")', 'aba-b'],
    ['strings.quote("a\\n\\"b\\"")', '"a\\n\\"b\\""'],
    [
      `"${'x'.repeat(4_000)}".replace("", "${'y'.repeat(4_000)}")`,
      'operation cancelled: actual cost limit exceeded',
    ],
  ]);
});

test('format has a clause for each kind of value', () => {
  assertValues([
    ['"%s, %s! 100%%".format(["a", "b"])', 'a, b! 100%'],
    ['"%d %s".format([7, true])', '7 true'],
    ['"%.2f|%f|%.0f|%.0f".format([1234.567, 0.5, 2.5, 3.5])', '1,234.57|0.500000|2|4'],
    ['"%.3e".format([1052.0329])', '1.052×10⁰³'],
    ['"%b %o %x %X".format([5, 8, 255, 255])', '101 10 ff FF'],
    ['"%x %x".format(["hi", b"hi"])', '6869 6869'],
    ['"%s".format([[1.5, 2.0]])', '[1.500000, 2.000000]'],
    ['"%s".format([{"b": duration("1s"), "a": duration("2s")}])', '{"a":duration("2s"), "b":duration("1s")}'],
    [
      '"%s %s %s".format([null, type(1), timestamp("2026-01-01T00:00:00Z")])',
      'null int 2026-01-01T00:00:00Z',
    ],
  ]);
  const environment = kubernetesEnvironment.extend({ variables: { f: stringType, l: listOf(dynType) } });
  const failing = (f: string) => evaluated('f.format(l)', { f, l: new ValueList(['a']) }, environment).value;
  assert.deepEqual(
    ['%d', '%s %d', '%q', '%'].map((f) => formatValue(failing(f))),
    [
      'error during formatting: decimal clause can only be used on integers, was given string',
      'index 1 out of range',
      'could not parse formatting clause: unrecognized formatting clause "q"',
      'unexpected end of string',
    ],
  );
});

test('a constant format is looked at before it runs', () => {
  const table: [text: string, issue: string][] = [
    [
      '"%d".format(["a"])',
      '1:14: error during formatting: decimal clause can only be used on integers, was given string',
    ],
    [
      '"%s".format([[optional.of(1)]])',
      '1:26: error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type',
    ],
    ['"%s".format([])', '1:12: index 0 out of range'],
    ['"%s".format([1, 2])', '1:12: too many arguments supplied to string.format (expected 1, got 2)'],
    ['"%q".format([1])', '1:12: could not parse formatting clause: unrecognized formatting clause "q"'],
  ];
  for (const [text, issue] of table)
    assert.equal(
      String(compileExpression(text, kubernetesEnvironment)).split('\n')[0],
      `ERROR: <input>:${issue}`,
    );
});

test('what texts cost', () => {
  assertCosts([
    ['"01234567890123456789".lowerAscii()', 2, 2],
    ['"01234567890123456789".replace("0", "ab")', 4, 4],
    ['"01234567890123456789".split("0")', 4, 4],
    ['"01234567890123456789".substring(3)', 2, 2],
  ]);
});
