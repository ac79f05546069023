// What literals say, in all their forms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LiteralError, unescapeBytes, unescapeText } from './literal-text.ts';

test('texts: quotes of each kind, escapes, raw ones, line ends', () => {
  const table: [token: string, text: string][] = [
    [`'a"b'`, 'a"b'],
    [`"""a"b\n'c"""`, 'a"b\n\'c'],
    [`'''x\r\ny'''`, 'x\ny'],
    [String.raw`"\a\b\f\n\r\t\v\\\"\'\?"`, '\u0007\b\f\n\r\t\v\\"\'?'],
    [String.raw`"\x41\101\u00e9\U0001F600"`, 'AAé😀'],
    [String.raw`r"\n\x41"`, String.raw`\n\x41`],
    [`""`, ''],
  ];
  for (const [token, text] of table) assert.equal(unescapeText(token), text, token);
  assert.throws(() => unescapeText(String.raw`"\U00110000"`), new LiteralError('invalid unicode code point'));
});

test('bytes: hexadecimal and octal escapes are bytes, characters are their UTF-8', () => {
  assert.deepEqual([...unescapeBytes(String.raw`"\xff\377é"`)], [255, 255, 195, 169]);
  assert.deepEqual([...unescapeBytes(String.raw`r"\x"`)], [92, 120]);
  assert.throws(() => unescapeBytes(String.raw`"\u00e9"`), new LiteralError('unable to unescape string'));
});
