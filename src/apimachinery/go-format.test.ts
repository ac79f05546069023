// Values as Go prints them, and not longer than somebody reads.
import assert from 'node:assert/strict';
import test from 'node:test';
import { goQuote, goSyntax, goValue } from './go-format.ts';

test('what a message shows of a value ends where nobody reads on, however large or deep it is', () => {
  const value = { b: [1, 'x', null], a: { c: true } };
  assert.equal(goValue(value), 'map[a:map[c:true] b:[1 x <nil>]]');
  assert.equal(
    goSyntax(value),
    'map[string]interface {}{"a":map[string]interface {}{"c":true}, "b":[]interface {}{1, "x", interface {}(nil)}}',
  );
  const long = Array.from({ length: 100_000 }, () => 'text');
  for (const print of [goValue, goSyntax]) {
    assert.match(print(long), /text.*\.\.\.$/);
    assert.equal(print(long).length, 2_003);
    assert.equal(print('x'.repeat(10_000)).length, 2_003);
  }
});

test('a text is quoted so that what nobody can see is read', () => {
  const quoted: readonly (readonly [string, string])[] = [
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['\0\x07\b\t\n\v\f\r\x1b', '"\\x00\\a\\b\\t\\n\\v\\f\\r\\x1b"'],
    ['\\u0001 is text', '"\\\\u0001 is text"'],
    ['\x7f\u0085\u00a0\u200b', '"\\x7f\\u0085\\u00a0\\u200b"'],
    ['grün 語 😀', '"grün 語 😀"'],
    ['\u{e0001}', '"\\U000e0001"'],
  ];
  for (const [text, expected] of quoted) assert.equal(goQuote(text), expected);
});
