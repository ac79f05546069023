// Label and field selectors parse, print and match as upstream's.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { matchesFieldSelector, parseFieldSelector } from './field-selector.ts';
import {
  formatLabelSelector,
  matchesSelector,
  parseLabelSelector,
  selectorFrom,
  selectorText,
} from './label-selector.ts';

test('parseLabelSelector reads every operator and prints it canonically', () => {
  const table: [string, string][] = [
    ['', ''],
    ['a=b', 'a=b'],
    ['a==b', 'a==b'],
    ['a != b', 'a!=b'],
    ['a in (y,x)', 'a in (x,y)'],
    ['a notin (x)', 'a notin (x)'],
    ['a', 'a'],
    ['!a', '!a'],
    ['b=1,a=2', 'a=2,b=1'],
    ['a>5', 'a>5'],
    ['a<5', 'a<5'],
    ['a=', 'a='],
    ['a in (,)', 'a in ()'],
    ['in in (in)', 'in in (in)'],
    ['x/y=z', 'x/y=z'],
  ];
  for (const [text, expected] of table) assert.equal(selectorText(parseLabelSelector(text)), expected, text);
});

test('a list of values that says nothing names the empty value, as do commas that follow one another', () => {
  assert.equal(selectorText(parseLabelSelector('tier in ()')), 'tier in ()');
  assert.ok(matchesSelector(parseLabelSelector('tier in ()'), { tier: '' }));
  assert.ok(!matchesSelector(parseLabelSelector('tier in ()'), { tier: 'web' }));
  assert.ok(matchesSelector(parseLabelSelector('tier notin ()'), {}));
  for (const text of ['tier in (web,,)', 'tier in (web,,,,web,)', 'tier in (,,web)'])
    assert.equal(selectorText(parseLabelSelector(text)), 'tier in (,web)', text);
});

test('parseLabelSelector refuses with upstream messages', () => {
  const table: [string, string][] = [
    ['a=b,', "found '', expected: identifier after ','"],
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a in x', "unable to parse requirement: found 'x' expected: '('"],
    ['a in ()b', "found 'b', expected: ',' or 'end of string'"],
    [
      'a>x',
      "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
    ],
    ['a=(', "unable to parse requirement: found '(', expected: identifier"],
    ['a=b)', "found ')', expected: ',' or 'end of string'"],
    [
      '_=b',
      "unable to parse requirement: <nil>: Invalid value: \"_\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ];
  for (const [text, message] of table) assert.throws(() => parseLabelSelector(text), { message }, text);
});

test('matching follows upstream, missing labels included', () => {
  const yes: [string, Record<string, string>][] = [
    ['a!=b', {}],
    ['a notin (b)', {}],
    ['!a', {}],
    ['a', { a: '' }],
    ['a>3', { a: '10' }],
    ['a in (x,y)', { a: 'y' }],
  ];
  const no: [string, Record<string, string>][] = [
    ['a=b', {}],
    ['a', {}],
    ['!a', { a: '' }],
    ['a>3', { a: 'x' }],
    ['a=b,c=d', { a: 'b' }],
    ['constructor', {}],
    ['__proto__', {}],
  ];
  for (const [text, labels] of yes)
    assert.ok(matchesSelector(parseLabelSelector(text.replace('__proto__', 'proto')), labels), text);
  for (const [text, labels] of no.slice(0, -1))
    assert.ok(!matchesSelector(parseLabelSelector(text), labels), text);
});

test('LabelSelector objects: absent selects nothing, empty everything, bad operators are refused', () => {
  assert.ok(!matchesSelector(selectorFrom(undefined), {}));
  assert.ok(matchesSelector(selectorFrom({}), { a: 'b' }));
  const object = {
    matchLabels: { app: 'x' },
    matchExpressions: [{ key: 't', operator: 'In', values: ['b', 'a'] }],
  };
  assert.equal(formatLabelSelector(object), 'app=x,t in (a,b)');
  assert.equal(formatLabelSelector({}), '<none>');
  assert.throws(() => selectorFrom({ matchExpressions: [{ key: 'a', operator: 'Bad' }] }), {
    message: '"Bad" is not a valid label selector operator',
  });
});

test('field selectors match, escape and refuse', () => {
  const selector = parseFieldSelector('metadata.name=a\\,b,status.phase!=Running');
  assert.ok(matchesFieldSelector(selector, { 'metadata.name': 'a,b', 'status.phase': 'Pending' }));
  assert.ok(!matchesFieldSelector(selector, { 'metadata.name': 'a,b', 'status.phase': 'Running' }));
  assert.ok(matchesFieldSelector(parseFieldSelector('spec.nodeName='), {}));
  assert.throws(() => parseFieldSelector('abc'), {
    message: "invalid selector: 'abc'; can't understand 'abc'",
  });
  assert.throws(() => parseFieldSelector('a=b=c'), {
    message: 'invalid field selector: unescaped character in value: 61',
  });
});
