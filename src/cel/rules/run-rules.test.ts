// Rules are asked in upstream's order and words, within their budget, and judged before a definition has them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorText } from '../../apimachinery/field-error.ts';
import type { Json, JsonObject } from '../../apimachinery/json.ts';
import { Correlated } from '../../apimachinery/structural/correlated.ts';
import { atOnce } from '../../base/turns.ts';
import { defaultRuleErrors } from './default-values.ts';
import { DefinitionRules } from './definition-rules.ts';
import { ruleTree } from './rule-tree.ts';
import { RuleRun } from './run-rules.ts';

const rules = (...given: (string | JsonObject)[]): JsonObject => ({
  'x-kubernetes-validations': given.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
});
const integer: JsonObject = { type: 'integer' };

function run(schema: JsonObject, value: Json, old?: Json, budget?: number): RuleRun {
  const asked = new RuleRun(budget);
  const change = old === undefined ? undefined : new Correlated(value, old, schema);
  atOnce(asked.ask(ruleTree(schema, false)!, { path: '', value, old, change }));
  return asked;
}
const errorsOf = (schema: JsonObject, value: Json, old?: Json): string[] =>
  run(schema, value, old).errors.map(fieldErrorText);
const judged = (schema: JsonObject): string[] =>
  atOnce(new DefinitionRules(() => false).judge(schema, 'at')).map(fieldErrorText);

test('rules are asked outer ones first, each about its value; null and what is absent are asked nothing', () => {
  const schema = {
    type: 'object',
    properties: {
      a: { ...integer, nullable: true, ...rules('self > 1') },
      'b-c': { ...integer, ...rules('self > 2') },
      map: { type: 'object', additionalProperties: { ...integer, ...rules('self > 3') } },
    },
    ...rules('has(self.a)'),
  };
  assert.deepEqual(errorsOf(schema, { 'b-c': 1, map: { 'x.y': 1, z: 9 } }), [
    '<nil>: Invalid value: failed rule: has(self.a)',
    'b-c: Invalid value: 1: failed rule: self > 2',
    'map[x.y]: Invalid value: 1: failed rule: self > 3',
  ]);
  assert.deepEqual(errorsOf(schema, { a: null }), ['<nil>: Invalid value: failed rule: has(self.a)']);
});

test('what goes wrong while a rule runs is told with the rule', () => {
  assert.deepEqual(errorsOf({ ...integer, ...rules('10 / self > 1') }, 0), [
    '<nil>: Invalid value: "integer": division by zero evaluating rule: 10 / self > 1',
  ]);
  const either = { 'x-kubernetes-int-or-string': true, ...rules({ rule: 'self + 1 > 1', message: 'm' }) };
  assert.deepEqual(errorsOf(either, 'x'), [
    `<nil>: Invalid value: "": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: m`,
  ]);
});

test('an expression makes the message, unless it has none to give', () => {
  const says = (messageExpression: string): string[] =>
    errorsOf({ ...integer, ...rules({ rule: 'self > 9', message: 'plain', messageExpression }) }, 1);
  assert.deepEqual(says("' has ' + string(self)"), ['<nil>: Invalid value: 1: has 1']);
  for (const none of ["''", "'a\\nb'", 'string(1 / (self - 1))', `'${'x'.repeat(5_121)}'`])
    assert.deepEqual(says(none), ['<nil>: Invalid value: 1: plain'], none);
});

test('a budget ends all rules, and costs are those of cel-go', () => {
  const schema = { type: 'array', items: { ...integer, ...rules('self == self + 0') } };
  assert.equal(run(schema, [1]).left, 10_000_000 - 4);
  const spent = run(schema, [1, 2, 3], undefined, 7);
  assert.equal(spent.left, -1);
  assert.deepEqual(spent.errors.map(fieldErrorText), [
    '[1]: Invalid value: "integer": validation failed due to running out of cost budget, no further validation rules will be run',
  ]);
});

test('an old value belongs to a new one by key, in maps and in lists that are maps', () => {
  const item = { type: 'object', properties: { k: integer, v: integer }, ...rules('self.v >= oldSelf.v') };
  const list = {
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
    items: item,
  };
  const before = [
    { k: 1, v: 5 },
    { k: 2, v: 5 },
  ];
  assert.deepEqual(errorsOf(list, [{ k: 3, v: 0 }, { k: 2, v: 4 }, { v: 1 }], before), [
    '[1]: Invalid value: failed rule: self.v >= oldSelf.v',
  ]);
  const map = { type: 'object', additionalProperties: item };
  assert.deepEqual(errorsOf(map, { a: { k: 1, v: 0 }, b: { k: 1, v: 0 } }, { a: { v: 1 } }), [
    '[a]: Invalid value: failed rule: self.v >= oldSelf.v',
  ]);
});

test('what did not change is forgiven with a warning, unless the rule is about changes', () => {
  const list = { type: 'array', items: { ...integer, ...rules('self > 5') } };
  const schema = { type: 'object', properties: { list, other: integer } };
  const same = run(schema, { list: [1], other: 1 }, { list: [1], other: 2 });
  assert.deepEqual(same.errors, []);
  assert.deepEqual(same.warnings, ['list[0]: Invalid value: 1: failed rule: self > 5']);
  assert.equal(run(schema, { list: [1, 9] }, { list: [1] }).errors.length, 1, 'a list is one value');
  const aboutChange = { ...integer, ...rules('self > oldSelf') };
  assert.equal(run(aboutChange, 1, 1).errors.length, 1);
});

test('rules nobody could compile are told, and a thousand faults are enough', () => {
  assert.match(errorsOf({ ...integer, ...rules('self >') }, 1)[0]!, /^<nil>: .*: rule compile error: /);
  const many = { type: 'array', items: { ...integer, ...rules('false') } };
  assert.equal(run(many, new Array(5_000).fill(1)).errors.length, 1_000);
});

test('what may be around a rule tells how often it runs', () => {
  const text = { type: 'string', ...rules('self.contains("abc")') };
  const inList = (bound: JsonObject): JsonObject => ({
    type: 'object',
    properties: { list: { type: 'array', ...bound, items: text } },
  });
  assert.equal(judged(inList({})).length, 3, 'texts without a bound in a list without one');
  assert.deepEqual(judged(inList({ maxItems: 10 })), []);
  assert.match(
    judged(inList({ maxItems: 100 }))[0]!,
    /^at\.properties\[list\]\.items\.x-kubernetes-validations\[0\]\.rule: Forbidden: estimated rule cost exceeds budget by factor of 3\.1x/,
  );
});

test('all rules together may be too dear, though none is by itself', () => {
  const text = { type: 'string', maxLength: 150_000, ...rules('self.contains("abc")') };
  const list = { type: 'array', maxItems: 100, items: text };
  const properties = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`f${i}`, list]));
  const found = judged({ type: 'object', properties });
  assert.equal(found.filter((one) => one.includes('contributed to')).length, 4);
  assert.match(
    found.at(-1)!,
    /^at: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of 1\.2\d+x/,
  );
});

test('a default is judged as a value that is new, and as one that was there', () => {
  const optional = { rule: 'oldSelf.hasValue()', optionalOldSelf: true };
  const found = (given: string | JsonObject): number =>
    atOnce(
      defaultRuleErrors(
        { type: 'object', properties: { a: { ...integer, default: 1, ...rules(given) } } },
        'at',
      ),
    ).length;
  assert.equal(found('self == oldSelf'), 0);
  assert.equal(found(optional), 1);
  assert.equal(found('self > 1'), 1);
});

test('fields of a map that nobody knows how to compare have no value before', () => {
  const schema = (mapType: string): JsonObject => ({
    type: 'object',
    properties: { a: { ...integer, ...rules('self == oldSelf') } },
    'x-kubernetes-map-type': mapType,
  });
  assert.deepEqual([...judged(schema('granular')), ...judged(schema('atomic'))], []);
  assert.deepEqual(judged(schema('woven')), [
    'at.properties[a].x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within at',
  ]);
});
