// Operators, conversions, texts and times of the language, with the errors that they give.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dynType } from '../cel-type.ts';
import { CheckedExpression, compileExpression } from '../compile.ts';
import { Environment, languageLibraries } from '../environment.ts';
import { formatValue } from '../value-text.ts';

const environment = new Environment({
  libraries: languageLibraries,
  variables: { d: dynType, w: dynType, big: dynType, raw: dynType },
});
const compiled = (text: string): CheckedExpression => {
  const found = compileExpression(text, environment);
  assert.ok(found instanceof CheckedExpression, `${text}: ${found}`);
  return found;
};
const check = (table: readonly (readonly [text: string, value: string])[]): void => {
  for (const [text, value] of table)
    assert.equal(
      formatValue(
        compiled(text)
          .program()
          .run({ d: 1n, w: 'x', big: 9.5e18, raw: Uint8Array.of(255) }).value,
      ),
      value,
      text,
    );
};

test('numbers: overflow, division, comparison across types', () => {
  check([
    ['9223372036854775807 + d', 'integer overflow'],
    ['-9223372036854775808 - d', 'integer overflow'],
    ['-(-9223372036854775808)', 'integer overflow'],
    ['18446744073709551615u + 1u', 'unsigned integer overflow'],
    ['0u - 1u', 'unsigned integer overflow'],
    ['7 / -2', '-3'],
    ['-7 % 3', '-1'],
    ['d / 0', 'division by zero'],
    ['d % 0', 'modulus by zero'],
    ['1.0 / 0.0', '+Inf'],
    ['0.0 / 0.0 == 0.0 / 0.0', 'false'],
    ['0.0 / 0.0 < 1.0', 'NaN values cannot be ordered'],
    ['1 < 1.5 && 2u > 1 && 1u <= 1.0', 'true'],
    ['9223372036854775807 < 9223372036854775808u', 'true'],
    ['dyn(1) == 1u && dyn(1u) == 1.0', 'true'],
    ['{1: "a"}[dyn(1.0)]', 'a'],
    ['d + dyn("a")', 'no such overload'],
    ['dyn(true) + 1', 'no such overload: _+_'],
    ['dyn([1]) < 1', 'no such overload: _<_'],
    ['dyn(null) >= dyn(1)', 'no such overload: _>=_'],
    ['dyn(1) > dyn("a")', 'no such overload'],
  ]);
});

test('what can not be gone through is told by the name of its type in Go', () => {
  check([
    ['dyn("a").all(x, true)', "got 'types.String', expected iterable type"],
    ['dyn(null).map(x, x)', "got 'types.Null', expected iterable type"],
    [
      'dyn(timestamp("2020-01-01T00:00:00Z")).exists(x, true)',
      "got 'types.Timestamp', expected iterable type",
    ],
  ]);
});

test('logic absorbs errors on either side, and a condition gives its own', () => {
  check([
    ['d / 0 == 1 || true', 'true'],
    ['true || d / 0 == 1', 'true'],
    ['d / 0 == 1 && false', 'false'],
    ['d / 0 == 1 || false', 'division by zero'],
    ['(d / 0 == 1 ? 1 : 2) == 1', 'division by zero'],
    ['[1, 0].all(x, 4 / x > 5)', 'false'],
    ['[1, 0].exists(x, 4 / x > 3)', 'true'],
    ['[0, 1].exists_one(x, 4 / x > 3)', 'division by zero'],
    ['dyn("x") || true', 'true'],
    ['dyn("x") || false', 'no such overload'],
  ]);
});

test('lists and maps', () => {
  check([
    ['[1, 2][d]', '2'],
    ['[1, 2][2]', 'index out of bounds: 2'],
    ['[1, 2][dyn("a")]', "unsupported index type 'string' in list"],
    ['{"a": 1}.b', 'no such key: b'],
    ['{"a": 1}["a"]', '1'],
    ['{"__proto__": 1}.__proto__', '1'],
    ['"__proto__" in {"a": 1} || "constructor" in {"a": 1}', 'false'],
    ['[1] + [2] == [1, 2]', 'true'],
    ['[1, [2]] == [1.0, [2u]]', 'true'],
    ['{"a": [1]} == {"a": [1]}', 'true'],
    ['dyn(2.0) in [1, 2]', 'true'],
    ['[] == [1]', 'false'],
    ['[3, 4].map(x, x > 3, x * 2)', '[8]'],
    ['{"a": 1, "b": 2}.filter(k, k == "b")', '[b]'],
    ['["a", "b"].transformList(i, v, i > 0, v + string(i))', '[b1]'],
    ['{"a": 1}.transformMapEntry(k, v, {v: k})', '{1: a}'],
    ['{"a": 1, "b": 1}.transformMapEntry(k, v, {v: k})', 'insert failed: key 1 already exists'],
    ['[1, 2].existsOne(i, v, i == v - 1)', 'false'],
    ['size({"a": 1}) + size([1]) + size("é😀") + size(b"é")', '6'],
  ]);
});

test('conversions', () => {
  check([
    ['int("-7") + int(7.9) + int(3u)', '3'],
    ['int(d + 9.5e18)', 'no such overload'],
    ['int(big)', 'integer overflow'],
    ['uint(-d)', 'unsigned integer overflow'],
    ['double("1e3")', '1000'],
    ['string(1.5) + string(1e6) + string(0.00001) + string(-0.0)', '1.51e+061e-05-0'],
    ['string(b"\\303\\251")', 'é'],
    ['string(raw)', 'invalid UTF-8 in bytes, cannot convert to string'],
    ['bool("t") && !bool("False")', 'true'],
    ['int(w)', "type conversion error from 'string' to 'int'"],
    ['string(dyn([d]))', 'no such overload: string(list)'],
    ['type(d) == int && type([]) == list && type(type(1)) == type', 'true'],
    ['bytes("é") == b"é"', 'true'],
  ]);
  assert.throws(() => compiled('int("x")').program(), /type conversion error from 'string' to 'int'/);
});

test('times and durations, in time zones', () => {
  check([
    ['timestamp("2024-02-29T23:30:00.5Z") + duration("1h") == timestamp("2024-03-01T00:30:00.5Z")', 'true'],
    ['string(timestamp("2024-01-01T00:00:00.120+02:00"))', '2024-01-01T00:00:00.12+02:00'],
    ['timestamp("2024-01-01T00:00:00Z") - timestamp("2023-12-31T23:59:59.75Z")', '0.25s'],
    ['timestamp("9999-12-31T23:59:59Z") + duration("1s")', 'timestamp overflow'],
    ['timestamp(253402300799) == timestamp("9999-12-31T23:59:59Z")', 'true'],
    ['timestamp("2024-07-01T12:00:00Z").getHours("America/New_York")', '8'],
    ['timestamp("2024-01-01T00:15:00Z").getDate("-00:30")', '31'],
    ['timestamp("2024-12-31T00:00:00Z").getDayOfYear()', '365'],
    ['timestamp("2024-12-29T00:00:00Z").getDayOfWeek()', '0'],
    ['timestamp("0001-01-01T00:00:00Z").getFullYear()', '1'],
    ['timestamp("2024-01-01T00:00:00Z").getHours("Mars/Olympus")', 'unknown time zone Mars/Olympus'],
    ['duration("1h30m").getMinutes() + duration("-1.5s").getMilliseconds()', '-1410'],
    ['string(duration("1h0.000000001s"))', '3600.000000001s'],
    ['duration("2540400h") + duration("2540400h")', 'integer overflow'],
    ['duration(w)', "type conversion error from 'string' to 'google.protobuf.Duration'"],
  ]);
});

test('texts: code points, and patterns in linear time', () => {
  check([
    ['"héllo".contains("él") && "abc".endsWith("bc")', 'true'],
    ['"\\U0001F600" > "\\uFFFD"', 'true'],
    ['"abc".matches("^a.c$") && matches("x", "[a-z]")', 'true'],
    [`"${'a'.repeat(5_000)}!".matches("^(a+)+$")`, 'false'],
    ['dyn(1).startsWith("a")', 'no such overload'],
  ]);
});

test('optional values', () => {
  check([
    ['optional.of(1).orValue(2) + optional.none().orValue(2)', '3'],
    ['optional.none().or(optional.of(3)).value()', '3'],
    ['optional.none().value()', 'optional.none() dereference'],
    ['optional.of(null).hasValue()', 'true'],
    ['optional.ofNonZeroValue("").hasValue()', 'false'],
    ['{"a": {"b": 1}}.?a.b', 'optional(1)'],
    ['{"a": {"b": 1}}.?a.c.hasValue()', 'false'],
    ['has({"a": {"b": 1}}.?a.b)', 'true'],
    ['[1, 2][?5].orValue(9)', '9'],
    ['[?optional.none(), 1].size()', '1'],
    ['{?"a": optional.none(), "b": 1}', '{b: 1}'],
    ['optional.of(4).optMap(x, x + 1)', 'optional(5)'],
    ['optional.none().optFlatMap(x, optional.of(x))', 'optional.none()'],
    ['[1, 2].last().value() + [5].first().value()', '7'],
    ['optional.unwrap([optional.of(1), optional.none()])', '[1]'],
  ]);
});
