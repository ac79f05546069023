// Structural schemas: what is dropped, what is filled in, what is refused and in which words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorText } from '../field-error.ts';
import type { Json, JsonObject } from '../json.ts';
import { Correlated } from './correlated.ts';
import { setDefaults } from './defaults.ts';
import { prune } from './prune.ts';
import { publishedSchema } from './published-schema.ts';
import { typesOf } from './schema-types.ts';
import { repeatedItems } from './unique-items.ts';
import { validateStructural } from './validate.ts';

const text = { type: 'string' };
const schema: JsonObject = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['size'],
      properties: {
        size: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
        name: { type: 'string', pattern: '^[a-z]+$', maxLength: 4 },
        mode: { type: 'string', enum: ['on', 'off'], nullable: true },
        port: { 'x-kubernetes-int-or-string': true },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        labels: { type: 'object', additionalProperties: text },
        parts: {
          type: 'array',
          maxItems: 3,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['id'],
          items: {
            type: 'object',
            required: ['id'],
            properties: { id: text, n: { type: 'integer', default: 7 } },
          },
        },
        names: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
      },
    },
  },
};
const errorsOf = (spec: JsonObject): string[] =>
  [...validateStructural({ spec }, schema), ...repeatedItems({ spec }, schema)].map(fieldErrorText);

test('unknown fields go, except where the schema keeps them', () => {
  const object: JsonObject = {
    apiVersion: 'x/v1',
    kind: 'X',
    metadata: { name: 'a' },
    spec: { size: 1, more: 1, free: { any: { thing: 1 } }, labels: { a: 'b' }, parts: [{ id: '1', no: 1 }] },
    other: {},
  };
  assert.deepEqual(prune(object, schema), ['spec.more', 'spec.parts[0].no', 'other']);
  assert.deepEqual(object['spec'], {
    size: 1,
    free: { any: { thing: 1 } },
    labels: { a: 'b' },
    parts: [{ id: '1' }],
  });
});

test('a path with a key of a megabyte is not told whole, a hundred times', () => {
  const parts = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}${'x'.repeat(100_000)}`, 1]));
  const told = prune({ spec: { ...parts } }, schema);
  assert.equal(told.length, 100);
  assert.ok(told.join().length < 110_000);
});

test('defaults are set in what is there, and instead of a null that may not be', () => {
  const object: JsonObject = { spec: { size: null, mode: null, parts: [{ id: 'a' }] } };
  setDefaults(object, schema);
  assert.deepEqual(object, { spec: { size: 2, mode: null, parts: [{ id: 'a', n: 7 }] } });
  const empty: JsonObject = {};
  setDefaults(empty, schema);
  assert.deepEqual(empty, {});
});

test('a name such as __proto__ is data and changes nothing else', () => {
  const hostile = JSON.parse('{"spec":{"__proto__":{"polluted":1},"size":1}}') as JsonObject;
  assert.deepEqual(prune(hostile, schema), ['spec.__proto__']);
  setDefaults(hostile, JSON.parse('{"properties":{"__proto__":{"default":{"polluted":1}}}}') as JsonObject);
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
  assert.equal(Object.getPrototypeOf(hostile), Object.prototype);
});

test('values are refused in upstream’s words', () => {
  assert.deepEqual(errorsOf({ size: 3, port: 'http', mode: 'on', names: ['a', 'b'] }), []);
  assert.deepEqual(errorsOf({ size: 3, mode: null }), [
    'spec.mode: Unsupported value: null: supported values: "on", "off"',
  ]);
  assert.deepEqual(errorsOf({}), ['spec.size: Required value']);
  assert.deepEqual(errorsOf({ size: 'x' }), [
    'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
  ]);
  assert.deepEqual(errorsOf({ size: 9 }), [
    'spec.size: Invalid value: 9: spec.size in body should be less than or equal to 5',
  ]);
  assert.deepEqual(errorsOf({ size: 1, name: 'ABCDE' }), [
    'spec.name: Too long: may not be more than 4 bytes',
  ]);
  assert.deepEqual(errorsOf({ size: 1, mode: 'x' }), [
    'spec.mode: Unsupported value: "x": supported values: "on", "off"',
  ]);
  assert.deepEqual(errorsOf({ size: 1, name: 'AB' }), [
    'spec.name: Invalid value: "AB": spec.name in body should match \'^[a-z]+$\'',
  ]);
  assert.deepEqual(errorsOf({ size: 1, names: ['a', 'a'] }), ['spec.names[1]: Duplicate value: "a"']);
  assert.deepEqual(errorsOf({ size: 1, parts: [{ id: 'a' }, { id: 'a' }, {}, {}] }), [
    'spec.parts[2].id: Required value',
    'spec.parts[3].id: Required value',
    'spec.parts: Too many: 4: must have at most 3 items',
    'spec.parts[1]: Duplicate value: {"id":"a"}',
    'spec.parts[3]: Duplicate value: {}',
  ]);
});

test('texts are as long as they have characters, however many units those take', () => {
  const said = (value: string, bounds: JsonObject): string[] =>
    validateStructural(value, { type: 'string', ...bounds }).map(({ message }) => message);
  const [one, two] = ['\u{1f600}', '\u{1f600}\u{1f600}'];
  for (const [value, bounds] of [
    ['', { minLength: 0 }],
    [one, { minLength: 1, maxLength: 1 }],
    [two, { minLength: 2, maxLength: 2 }],
    ['ab', { minLength: 2, maxLength: 2 }],
    [`${two}a`, { minLength: 3, maxLength: 3 }],
  ] as const)
    assert.deepEqual(said(value, bounds), [], value);
  for (const value of ['', 'a', one])
    assert.match(said(value, { minLength: 2 }).join(), /should be at least 2 chars long$/);
  for (const value of ['abc', `${two}a`, 'x'.repeat(3_000_000)])
    assert.deepEqual(said(value, { maxLength: 2 }), ['Too long: may not be more than 2 bytes']);
});

test('a default is set wherever its schema is met again', () => {
  const part = { type: 'object', properties: { size: { type: 'object', default: { a: 1 } }, other: text } };
  const list = { type: 'array', items: part };
  const first: JsonObject = { list: [{}, { size: { a: 2 } }, { other: 'x' }] };
  const of = { type: 'object', properties: { list } };
  setDefaults(first, of);
  const second: JsonObject = { list: [{}] };
  setDefaults(second, of);
  assert.deepEqual(first, { list: [{ size: { a: 1 } }, { size: { a: 2 } }, { other: 'x', size: { a: 1 } }] });
  // Each has its own: what is done to one is not seen in others, nor in the schema.
  ((first['list'] as JsonObject[])[0]!['size'] as JsonObject)['a'] = 3;
  assert.deepEqual([second, part.properties.size.default], [{ list: [{ size: { a: 1 } }] }, { a: 1 }]);
});

test('a pattern that takes other engines for ever is matched in no time', () => {
  const slow: JsonObject = { type: 'object', properties: { s: { type: 'string', pattern: '^(a+)+$' } } };
  assert.equal(validateStructural({ s: `${'a'.repeat(5000)}!` }, slow).length, 1);
});

test('what did not change since its schema got too many choices is not tried: its finalizers can be taken out', () => {
  const names = Array.from({ length: 1_500 }, (_, i) => `y${i}`);
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'integer' }]));
  const anyOf = names.map((name) => ({ properties: { [name]: { maximum: -1 } } }));
  const strict: JsonObject = {
    type: 'object',
    properties: { metadata: { type: 'object' }, spec: { type: 'object', properties, anyOf } },
  };
  const of = (first: number, finalizers: string[]): JsonObject => ({
    metadata: { finalizers },
    spec: Object.fromEntries(names.map((name, i) => [name, i + first])),
  });
  const old = of(0, ['a']);
  const told = (value: JsonObject): number =>
    validateStructural(value, strict, new Correlated(value, old, strict)).length;
  assert.equal(told(of(0, [])), 0);
  assert.equal(told(of(1, [])), 1);
});

test('types tell how lists merge; documents show the schema with what every object has', () => {
  const types = typesOf('com.x.v1.X', schema);
  const spec = types.get('com.x.v1.X#spec')?.fields;
  assert.deepEqual(spec?.['parts'], {
    type: 'array',
    items: { ref: 'com.x.v1.X#spec.parts.items' },
    listType: 'map',
    listMapKeys: ['id'],
  });
  assert.equal(spec?.['names']?.listType, 'set');
  const gvk = { group: 'x.com', version: 'v1', kind: 'X' };
  const shown = publishedSchema(schema, { gvk, selectable: [] }, 'v3');
  assert.deepEqual(Object.keys(shown['properties'] as object), ['spec', 'apiVersion', 'kind', 'metadata']);
  assert.ok(!JSON.stringify(publishedSchema(schema, { gvk, selectable: [] }, 'v2')).includes('nullable'));
});

test('documents say what upstream says of resources within, of what may be null, and of what is kept', () => {
  const within: JsonObject = {
    type: 'object',
    'x-kubernetes-int-or-string': false,
    required: ['maybe', 'raw'],
    properties: {
      maybe: { type: 'string', nullable: true, description: '' },
      raw: {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
      },
      typed: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { spec: text } },
      open: { type: 'array', items: text, 'x-kubernetes-preserve-unknown-fields': true },
      choice: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, text], default: 1 },
    },
  };
  const root: JsonObject = { type: 'object', properties: { spec: within } };
  const gvk = { group: 'x.com', version: 'v1', kind: 'X' };
  const shown = (dialect: 'v2' | 'v3') => {
    const published = publishedSchema(root, { gvk, selectable: ['spec.maybe'] }, dialect);
    assert.deepEqual(published['x-kubernetes-selectable-fields'], [{ fieldPath: 'spec.maybe' }]);
    return (published['properties'] as JsonObject)['spec'] as {
      properties: Record<string, JsonObject>;
      required: string[];
    };
  };
  const v2 = shown('v2');
  assert.deepEqual(Object.keys(v2), ['type', 'required', 'properties']);
  assert.deepEqual(v2.required, ['raw']);
  assert.deepEqual(v2.properties['maybe'], {});
  assert.deepEqual(v2.properties['raw'], {
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  });
  assert.deepEqual(Object.keys(v2.properties['typed']!['properties'] as object), [
    'spec',
    'apiVersion',
    'kind',
    'metadata',
  ]);
  assert.deepEqual(v2.properties['typed']!['required'], ['kind', 'apiVersion']);
  assert.deepEqual(v2.properties['open'], { 'x-kubernetes-preserve-unknown-fields': true });
  assert.deepEqual(v2.properties['choice'], { 'x-kubernetes-int-or-string': true, default: 1 });
  const v3 = shown('v3');
  assert.deepEqual(v3.required, ['maybe', 'raw']);
  assert.deepEqual(v3.properties['maybe'], { type: 'string', nullable: true });
  assert.deepEqual(v3.properties['raw']!['required'], ['kind', 'apiVersion']);
  assert.deepEqual(
    v3.properties['choice'],
    within['properties'] && (within['properties'] as JsonObject)['choice'],
  );
  const kept = { ...root, 'x-kubernetes-preserve-unknown-fields': true };
  assert.deepEqual(Object.keys(publishedSchema(kept, { gvk, selectable: [] }, 'v2')), [
    'type',
    'x-kubernetes-group-version-kind',
  ]);
});

const textsOf = (schema: JsonObject, value: Json): string[] =>
  validateStructural({ a: value }, { type: 'object', properties: { a: schema } }).map(fieldErrorText);
const unplaced = '<nil>: Invalid value: ""';

test('of choices that none fits, the nearest is told of, and the whole by its name', () => {
  const either = { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] };
  assert.deepEqual(textsOf(either, true), [
    'a: Invalid value: "boolean": a in body must be of type integer,string: "boolean"',
    `${unplaced}: "a" must validate at least one schema (anyOf)`,
    'a: Invalid value: "boolean": a in body must be of type integer: "boolean"',
  ]);
  const object = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const oneOf = [{ required: ['x', 'y'] }, { properties: { z: { minimum: 5 } } }];
  assert.deepEqual(textsOf({ ...object, oneOf }, { z: 1 }), [
    `${unplaced}: "a" must validate one and only one schema (oneOf). Found none valid`,
    'a.z: Invalid value: 1: a.z in body should be greater than or equal to 5',
  ]);
  assert.deepEqual(textsOf({ ...object, oneOf }, { x: 1, y: 1, z: 7 }), [
    `${unplaced}: "a" must validate one and only one schema (oneOf). Found 2 valid alternatives`,
  ]);
  assert.deepEqual(textsOf({ type: 'integer', allOf: [{ minimum: 3 }], not: { maximum: 9 } }, 1), [
    'a: Invalid value: 1: a in body should be greater than or equal to 3',
    `${unplaced}: "a" must validate all the schemas (allOf). None validated`,
    `${unplaced}: "a" must not validate the schema (not)`,
  ]);
});

test('a wrong type does not keep other rules from being told', () => {
  assert.deepEqual(textsOf({ type: 'integer', enum: [1, 2] }, 'x'), [
    'a: Invalid value: "string": a in body must be of type integer: "string"',
    'a: Unsupported value: "x": supported values: "1", "2"',
  ]);
});

test('numbers have the range of their format', () => {
  const tooLarge = (format: string, type = 'integer'): string[] => [
    `${unplaced}: Checked value must be of type ${type} with format ${format} in a`,
  ];
  assert.deepEqual(textsOf({ type: 'integer', format: 'int32' }, 2 ** 31 - 1), []);
  assert.deepEqual(textsOf({ type: 'integer', format: 'int32' }, 2 ** 31), tooLarge('int32'));
  assert.deepEqual(textsOf({ type: 'number', format: 'float' }, 3.5e38), tooLarge('float', 'number'));
  assert.deepEqual(textsOf({ type: 'integer', format: 'int64' }, 1e19), [
    'a: Invalid value: "float64": a in body must be of type int64: "float64"',
    ...tooLarge('int64'),
  ]);
  assert.deepEqual(textsOf({ type: 'number', maximum: 1 }, 25_000_000.5), [
    'a: Invalid value: 2.50000005e+07: a in body should be less than or equal to 1',
  ]);
});

/** Of each format texts that have it, and texts that do not. */
const formats: readonly (readonly [format: string, good: readonly string[], bad: readonly string[]])[] = [
  ['k8s-short-name', ['web-1'], ['Web', 'a.b', 'a-', 'x'.repeat(64)]],
  ['k8s-long-name', ['a.b', 'x'.repeat(90)], ['a..b', 'A']],
  [
    'datetime',
    ['2026-01-31t12:00:00z'],
    ['2026-01-31 12:00:00Z', '2026-02-31T12:00:00Z', '2026-01-31T24:00:00Z'],
  ],
  ['date', ['2024-02-29'], ['2026-02-29', '2026-04-31']],
  ['byte', ['aGk='], ['', 'aGk']],
  ['hostname', ['a.com', 'é.com', 'localhost'], ['a_b', 'ab-c', 'a.b1', `a.${'x'.repeat(64)}`]],
  ['email', ['a.b@c.d', 'A. Bee <a@b>', '"x y"@c'], ['a@', 'a..b@c', 'a b@c']],
  ['uri', ['/x', 'mailto:a@b'], ['x', 'http://a b']],
  ['duration', ['1.5h', '5 days', '3 weeks ago'], ['1', '5xs', '']],
  ['mac', ['01-23-45-67-89-AB', '0123.4567.89ab'], ['01:23-45:67:89:ab']],
  ['uuid4', ['0b5cd2b7-5a4e-4ab6-8f2c-2d9c5a3f1e77'], ['0b5cd2b7-5a4e-4ab6-cf2c-2d9c5a3f1e77']],
  ['isbn', ['0321751043', '978-0321751041'], ['0321751044']],
  ['creditcard', ['4111-1111-1111-1111'], ['4111111111111112']],
  ['hexcolor', ['#fff'], ['#ffff']],
  ['rgbcolor', ['rgb(1, 2, 255)'], ['rgb(1,2,256)']],
  ['ssn', ['111-11-1111'], ['111111111']],
  ['bsonobjectid', ['507f1f77bcf86cd799439011'], ['x']],
  ['ipv4', ['1.2.3.4', '::ffff:1.2.3.4'], ['1.2.3', '::1']],
  ['ipv6', ['::1', '::ffff:1.2.3.4'], ['1.2.3.4']],
  ['nonsense', ['anything'], []],
];

test('formats take what upstream takes', () => {
  for (const [format, good, bad] of formats) {
    for (const text of good) assert.deepEqual(textsOf({ type: 'string', format }, text), [], text);
    for (const text of bad)
      assert.deepEqual(textsOf({ type: 'string', format }, text), [
        `a: Invalid value: ${JSON.stringify(text)}: a in body must be of type ${format}: ${JSON.stringify(text)}`,
      ]);
  }
});
