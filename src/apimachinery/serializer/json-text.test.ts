// JSON bodies: duplicates are found, numbers kept or refused, depth bounded, errors in Go's words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJson } from './json-numbers.ts';
import { syntaxError } from './json-syntax-error.ts';
import { parseJsonText } from './json-text.ts';

test('duplicate keys are named with their path, the last one counts', () => {
  const { value, duplicateFields } = parseJsonText(
    '{"a":{"b":1,"c":[{"d":1,"d":2}],"b":"}"},"e":"a:\\"b\\":{"}',
  );
  assert.deepEqual(duplicateFields, ['a.c[0].d', 'a.b']);
  assert.deepEqual(value, { a: { b: '}', c: [{ d: 2 }] }, e: 'a:"b":{' });
  assert.deepEqual(parseJsonText('{"a":{"b":1},"c":{"b":1}}').duplicateFields, []);
});

test('an int64 keeps its digits, what is larger is a float64 as Go writes it, and what no double holds is refused', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['9007199254740991', '9007199254740991'],
    ['9007199254740993', '9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9223372036854775000', '9223372036854775000'],
    ['9223372036854775808', '9223372036854776000'],
    ['123456789012345678901234567890', '1.2345678901234568e+29'],
    ['1e30', '1e+30'],
    ['1e21', '1e+21'],
    ['100000000000000000000.0', '100000000000000000000'],
    ['0.0000001', '1e-7'],
    ['0.000001', '0.000001'],
    ['1.50', '1.5'],
    ['1e3', '1000'],
    ['"9007199254740993"', '"9007199254740993"'],
    ['"x: 9007199254740993, [9007199254740993"', '"x: 9007199254740993, [9007199254740993"'],
  ];
  for (const [sent, written] of rows) {
    const { value, duplicateFields } = parseJsonText(`{"a":[ ${sent}],"b":{"c":${sent}}}`);
    assert.equal(JSON.stringify(value), `{"a":[${written}],"b":{"c":${written}}}`);
    assert.deepEqual(duplicateFields, []);
    assert.equal(JSON.stringify(readJson(JSON.stringify(value))), JSON.stringify(value));
  }
  for (const huge of ['1e400', '-1e400', `1${'0'.repeat(400)}`])
    assert.throws(() => parseJsonText(`{"a":${huge}}`), {
      message: `json: cannot unmarshal number ${huge} into Go value of type float64`,
    });
});

test('a bomb of brackets is refused before it is parsed', () => {
  assert.throws(() => parseJsonText('['.repeat(2_000_000)), { message: 'exceeded max depth' });
  assert.throws(() => parseJsonText(`${'{"a":'.repeat(600)}1${'}'.repeat(600)}`), {
    message: 'exceeded max depth',
  });
});

test('keys that name prototypes are plain keys', () => {
  const { value } = parseJsonText('{"__proto__":{"polluted":true},"constructor":1}');
  assert.deepEqual(Object.keys(value as object), ['__proto__', 'constructor']);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('what is wrong with a text is said as Go says it', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['', 'unexpected end of JSON input'],
    ['{', 'unexpected end of JSON input'],
    ['{x', "invalid character 'x' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', "invalid character '\"' after object key:value pair"],
    ['[1 2]', "invalid character '2' after array element"],
    ['nul', 'unexpected end of JSON input'],
    ['nulx', "invalid character 'x' in literal null (expecting 'l')"],
    ['{} x', "invalid character 'x' after top-level value"],
    ['<html>', "invalid character '<' looking for beginning of value"],
    ['{"a":"\\q"}', "invalid character 'q' in string escape code"],
  ];
  for (const [text, expected] of cases) assert.equal(syntaxError(text), expected, text);
});

test('a body of nothing but duplicates costs no more than any other', () => {
  const pairs = Array.from({ length: 10_000 }, (_, i) => `"a${i}":1,"a${i}":1`).join(',');
  assert.equal(parseJsonText(`{${pairs}}`).duplicateFields.length, 100);
  const { duplicateFields } = parseJsonText(`{"${'k'.repeat(500_000)}":{${pairs}}}`);
  assert.equal(duplicateFields.length, 100);
  assert.ok(duplicateFields.every((path) => path.length < 2000));
});
