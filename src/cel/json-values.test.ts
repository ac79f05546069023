// Objects under a schema: what rules see of them, how large they may be, and what does not fit.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../apimachinery/json.ts';
import { parseLongNumbers } from '../apimachinery/serializer/json-numbers.ts';
import { dynType } from './cel-type.ts';
import { CheckedExpression, compileExpression } from './compile.ts';
import { Environment, languageLibraries } from './environment.ts';
import { jsonValue, schemaValue } from './json-values.ts';
import { schemaSizeHints, schemaType, schemaTypeProvider } from './schema-type.ts';
import { formatValue } from './value-text.ts';

const listOf = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  ...more,
});
const text = { type: 'string' };
const schema = object(
  {
    replicas: { type: 'integer' },
    ratio: { type: 'number' },
    port: { 'x-kubernetes-int-or-string': true },
    when: { type: 'string', format: 'date-time' },
    wait: { type: 'string', format: 'duration' },
    data: { type: 'string', format: 'byte' },
    'a-b.c/d': text,
    namespace: text,
    __proto__x: text,
    maybe: { type: 'string', nullable: true },
    labels: { type: 'object', additionalProperties: text, maxProperties: 10 },
    names: listOf({ type: 'string', maxLength: 5 }, { maxItems: 7, 'x-kubernetes-list-type': 'set' }),
    ports: listOf(object({ name: text, port: { type: 'integer' } }), {
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    }),
    any: { 'x-kubernetes-preserve-unknown-fields': true },
  },
  { required: ['replicas'] },
);
const root = schemaType(schema, 'selfType', true);
const environment = new Environment({
  libraries: languageLibraries,
  types: schemaTypeProvider([root]),
  variables: { self: root.type, oldSelf: root.type, d: dynType },
});
const compiled = (text: string): CheckedExpression => {
  const found = compileExpression(text, environment);
  assert.ok(found instanceof CheckedExpression, `${text}: ${found}`);
  return found;
};
const run = (text: string, self: Json, oldSelf: Json = self): string => {
  const variables = {
    self: schemaValue(self, root),
    oldSelf: schemaValue(oldSelf, root),
    d: jsonValue(self),
  };
  return formatValue(compiled(text).program().run(variables).value);
};

test('fields have the types of the schema, under names that can be written', () => {
  const self = {
    replicas: 3,
    ratio: 2,
    port: 'http',
    when: '2026-01-02T03:04:05Z',
    wait: '1m30s',
    data: 'aGk=',
    'a-b.c/d': 'x',
    namespace: 'ns',
    labels: { 'a/b': 'c', __proto__x: 'y' },
    metadata: { name: 'n' },
  };
  const table: [text: string, value: string][] = [
    ['self.replicas + 1', '4'],
    ['self.ratio / 4.0', '0.5'],
    ['self.port == "http" && type(self.port) == string', 'true'],
    ['self.when.getMonth()', '0'],
    ['self.wait > duration("1m")', 'true'],
    ['string(self.data)', 'hi'],
    ['self.a__dash__b__dot__c__slash__d', 'x'],
    ['self.__namespace__ + self.namespace', 'nsns'],
    ['self.labels["a/b"]', 'c'],
    ['has(self.maybe) || has(self.names)', 'false'],
    ['self.names', 'no such key: names'],
    ['self.?names.orValue([]).size()', '0'],
    ['self.metadata.name + self.?apiVersion.orValue("-")', 'n-'],
    ['d["a-b.c/d"] + d.labels.__proto__x', 'xy'],
    ['"toString" in d || has(d.constructor)', 'false'],
    ['d.replicas == 3 && type(d.ratio) == int', 'true'],
  ];
  for (const [text, value] of table) assert.equal(run(text, self), value, text);
  assert.match(String(compileExpression('self.any', environment)), /undefined field 'any'/);
});

test('integers keep all their digits', () => {
  const self = parseLongNumbers('{"replicas": 9007199254740993}');
  assert.equal(run('self.replicas - 1', self), '9007199254740992');
  assert.equal(run('d.replicas % 10', self), '3');
});

test('null is no value of a field, and one of a map where it may be', () => {
  assert.equal(run('has(self.maybe)', { replicas: 1, maybe: null }), 'false');
  assert.equal(
    run('self.labels.a', { replicas: 1, labels: { a: null } }),
    'invalid data, got null for schema with nullable=false',
  );
});

test('what does not fit the schema is an error where it is selected', () => {
  const self = { replicas: 1.5, ratio: 'x', when: 'never', names: {}, port: 1.5, wait: '3 moons' };
  const table: [text: string, value: string][] = [
    ['self.replicas', 'invalid data, expected int, got float64'],
    ['self.ratio', 'invalid data, expected float, got string'],
    ['self.when', 'Invalid date-time formatted string never'],
    ['self.names', 'invalid data, expected an array for the provided schema with type=array'],
    ['self.port', 'invalid data, expected XIntOrString value to be either a string or integer'],
    ['has(self.ratio)', 'invalid data, expected float, got string'],
    ['has(self.ratio) || self.maybe == "x" || true', 'true'],
  ];
  for (const [text, value] of table) assert.equal(run(text, self), value, text);
});

test('lists that are sets or maps are the same in any order, and are joined by their keys', () => {
  const one = {
    replicas: 1,
    names: ['a', 'b'],
    ports: [
      { name: 'x', port: 1 },
      { name: 'y', port: 2 },
    ],
  };
  const other = {
    replicas: 1,
    names: ['b', 'a'],
    ports: [
      { name: 'y', port: 2 },
      { name: 'x', port: 1 },
    ],
  };
  const changed = { replicas: 1, names: ['b', 'c'], ports: [{ name: 'y', port: 3 }] };
  assert.equal(run('self == oldSelf && self.names == oldSelf.names', one, other), 'true');
  assert.equal(run('self.ports == oldSelf.ports', one, changed), 'false');
  assert.equal(run('self.names + oldSelf.names', one, changed), '[a, b, c]');
  assert.equal(run('(self.ports + oldSelf.ports).map(p, p.port)', one, changed), '[1, 3]');
});

test('sizes of the schema bound what a rule may cost', () => {
  const most = (text: string): number => compiled(text).estimate(schemaSizeHints(root)).max;
  assert.equal(most('self.names.all(n, n.size() > 1)'), 2 + 7 * 6 + 1);
  assert.equal(most('self.labels.all(k, k != "a")') < 100, true);
  assert.ok(most('self.ports.all(p, self.ports.all(q, p.name == q.name))') > 1e12);
  assert.equal(root.minSerialized, 2 + 'replicas'.length + 1 + 4);
  // Of a reserved word as it stands nothing is known but the type.
  assert.ok(most('self.__namespace__.matches("a")') < 1e7);
  assert.ok(most('self.namespace.matches("a")') > 1e15);
});
