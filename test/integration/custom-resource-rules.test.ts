// The rules that definitions give their objects: who keeps them, what is told of those who don't, and which rules are none.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

let cluster: TestControlPlane;
before(async () => {
  cluster = await startTestControlPlane();
});
after(() => cluster.close());

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const merge = { contentType: 'application/merge-patch+json' };
const integer = { type: 'integer' };
const text = { type: 'string', maxLength: 64 };
const rules = (...given: (string | JsonObject)[]): JsonObject => ({
  'x-kubernetes-validations': given.map((rule) => (typeof rule === 'string' ? { rule } : rule)),
});
const object = (properties: JsonObject, ...given: (string | JsonObject)[]): JsonObject => ({
  type: 'object',
  properties,
  ...(given.length > 0 ? rules(...given) : {}),
});

const definition = (plural: string, schema: JsonObject): JsonObject => ({
  metadata: { name: `${plural}.rules.example.com` },
  spec: {
    group: 'rules.example.com',
    scope: 'Namespaced',
    names: { plural, kind: plural.toUpperCase() },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: schema },
      },
    ],
  },
});
const path = (plural: string): string => `/apis/rules.example.com/v1/namespaces/default/${plural}`;
const rootOf = (spec: JsonObject, ...given: (string | JsonObject)[]): JsonObject =>
  object({ spec, status: object({ size: integer }) }, ...given);

async function define(plural: string, schema: JsonObject): Promise<void> {
  const made = await cluster.ask('POST', crds, definition(plural, schema));
  assert.equal(made.status, 201, made.text);
  await eventually(async () => assert.equal((await cluster.ask('GET', path(plural))).status, 200), {
    everyMs: 5,
  });
}
const refuse = async (schema: JsonObject): Promise<readonly [field: string, message: string][]> => {
  const answer = await cluster.ask('POST', crds, definition('wrongs', schema));
  assert.equal(answer.status, 422, answer.text);
  return causesOf(answer);
};
const causesOf = (answer: Answer): [field: string, message: string][] => {
  const details = answer.body['details'] as { causes: { field: string; message: string }[] } | undefined;
  return (details?.causes ?? []).map(({ field, message }) => [field, message]);
};
const create = (plural: string, name: string, spec: JsonObject): Promise<Answer> =>
  cluster.ask('POST', path(plural), { metadata: { name }, spec });
const patch = (plural: string, name: string, change: JsonObject, part = ''): Promise<Answer> =>
  cluster.ask('PATCH', `${path(plural)}/${name}${part}`, change, merge);
const inSpec = '<nil>';

test('objects keep rules, and are told in upstream’s words when they do not', async () => {
  const spec = object(
    {
      min: integer,
      max: { ...integer, ...rules({ rule: 'self < 100', message: ' too large ' }) },
      name: { ...text, ...rules({ rule: 'self != "taken"', reason: 'FieldValueDuplicate' }) },
      kept: {
        ...text,
        ...rules({ rule: 'self == oldSelf', reason: 'FieldValueForbidden', message: 'is kept' }),
      },
      parts: {
        type: 'array',
        maxItems: 10,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['id'],
        items: {
          ...object(
            { id: text, size: integer },
            {
              rule: 'self.size >= oldSelf.size',
              messageExpression: '"part " + self.id + " shrinks"',
            },
          ),
          required: ['id'],
        },
      },
      either: { 'x-kubernetes-int-or-string': true, ...rules('type(self) == int ? self > 0 : self != ""') },
    },
    '!has(self.max) || self.min <= self.max',
    { rule: 'self.?min.orValue(1) > 0', fieldPath: '.min', reason: 'FieldValueRequired', message: 'more' },
  );
  await define('keeps', rootOf(spec, 'self.metadata.name.startsWith("k")'));
  const fine = { min: 1, max: 2, kept: 'a', either: 'x', parts: [{ id: 'a', size: 2 }] };
  assert.equal((await create('keeps', 'k', fine)).status, 201);
  const wrong = await create('keeps', 'wrong', { ...fine, min: 0, max: 100, name: 'taken', either: 0 });
  assert.equal(wrong.status, 422);
  assert.deepEqual(causesOf(wrong), [
    [inSpec, 'Invalid value: failed rule: self.metadata.name.startsWith("k")'],
    ['spec.min', 'Required value: more'],
    ['spec.max', 'Invalid value: 100: too large'],
    ['spec.either', 'Invalid value: 0: failed rule: type(self) == int ? self > 0 : self != ""'],
    ['spec.name', 'Duplicate value: "taken"'],
  ]);
  const changed = await patch('keeps', 'k', {
    spec: {
      kept: 'b',
      parts: [
        { id: 'b', size: 1 },
        { id: 'a', size: 1 },
      ],
    },
  });
  assert.deepEqual(causesOf(changed), [
    ['spec.kept', 'Forbidden: is kept'],
    ['spec.parts[1]', 'Invalid value: part a shrinks'],
  ]);
  const blocked = await patch('keeps', 'k', { spec: { min: 'x', kept: 'b' } });
  assert.deepEqual(causesOf(blocked), [
    ['spec.min', 'Invalid value: "string": spec.min in body must be of type integer: "string"'],
    [
      inSpec,
      'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ],
  ]);
});

test('rules of the status are asked when it is written, those of the spec as well', async () => {
  const status = object({ size: integer }, 'self.size < 3');
  const spec = object({ size: integer });
  await define('states', object({ spec, status }, '!has(self.status) || self.status.size <= self.spec.size'));
  assert.equal((await create('states', 'a', { size: 1 })).status, 201);
  assert.deepEqual(causesOf(await patch('states', 'a', { status: { size: 3 } }, '/status')), [
    [inSpec, 'Invalid value: failed rule: !has(self.status) || self.status.size <= self.spec.size'],
    ['status', 'Invalid value: failed rule: self.size < 3'],
  ]);
  const text = await patch('states', 'a', { status: { size: 'x' } }, '/status');
  assert.deepEqual(causesOf(text)[0], [
    'status.size',
    'Invalid value: "string": size in body must be of type integer: "string"',
  ]);
  assert.equal((await patch('states', 'a', { status: { size: 1 } }, '/status')).status, 200);
});

test('an optional oldSelf lets a rule judge what is new', async () => {
  const rule = {
    rule: 'oldSelf.hasValue() || self == "first"',
    optionalOldSelf: true,
    message: 'begins with first',
  };
  await define('firsts', rootOf(object({ step: { ...text, ...rules(rule) } })));
  assert.deepEqual(causesOf(await create('firsts', 'a', { step: 'second' })), [
    ['spec.step', 'Invalid value: "second": begins with first'],
  ]);
  assert.equal((await create('firsts', 'a', { step: 'first' })).status, 201);
  assert.equal((await patch('firsts', 'a', { spec: { step: 'second' } })).status, 200);
});

test('what was wrong before and stays the same passes, with a warning where a rule says so', async () => {
  const before = rootOf(
    object({ size: integer, name: text, other: text, list: { type: 'array', items: text } }),
  );
  await define('olds', before);
  const given = { size: 7, name: 'long-name', other: 'a', list: ['a', 'a'] };
  assert.equal((await create('olds', 'a', given)).status, 201);
  const spec = object({
    size: { ...integer, ...rules('self < 5') },
    name: { type: 'string', maxLength: 4 },
    other: text,
    list: { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  });
  const url = `${crds}/olds.rules.example.com`;
  const crd = (await cluster.ask('GET', url)).body;
  const version = {
    ...((crd['spec'] as JsonObject)['versions'] as JsonObject[])[0],
    schema: { openAPIV3Schema: rootOf(spec) },
  };
  const changed = await cluster.ask('PATCH', url, { spec: { versions: [version] } }, merge);
  assert.equal(changed.status, 200, changed.text);
  await eventually(async () => assert.equal((await create('olds', 'b', { size: 7 })).status, 422), {
    everyMs: 5,
  });
  const ratcheted = async (): Promise<number[]> => {
    const { text: told } = await cluster.ask('GET', '/metrics');
    const of = (end: string): number =>
      Number(
        new RegExp(`^apiextensions_apiserver_validation_ratcheting_seconds_${end} (.+)$`, 'm').exec(
          told,
        )?.[1],
      );
    return [of('count'), of('sum')];
  };
  const [countBefore = 0, sumBefore = 0] = await ratcheted();
  const kept = await patch('olds', 'a', { spec: { other: 'b' } });
  const [count = 0, sum = 0] = await ratcheted();
  assert.equal(count, countBefore + 1, 'an update is compared with what was there');
  assert.ok(sum > sumBefore);
  assert.equal(kept.status, 200, kept.text);
  assert.deepEqual(kept.warnings, ['299 - "spec.size: Invalid value: 7: failed rule: self < 5"']);
  assert.deepEqual(causesOf(await patch('olds', 'a', { spec: { size: 6 } })), [
    ['spec.size', 'Invalid value: 6: failed rule: self < 5'],
  ]);
  assert.deepEqual(causesOf(await patch('olds', 'a', { spec: { name: 'other-name' } }))[0], [
    'spec.name',
    'Too long: may not be more than 4 bytes',
  ]);
});

test('a definition whose rules are none is refused, as upstream refuses it', async () => {
  const at = 'spec.validation.openAPIV3Schema.properties[spec]';
  const list = (items: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'array', items, ...more });
  const found = await refuse(
    rootOf(
      object(
        { size: integer, parts: list({ ...integer, ...rules('self == oldSelf') }, { maxItems: 3 }) },
        'self.nothing > 1',
        'self.size',
        { rule: 'self.size > 1', messageExpression: '1' },
        { rule: 'self.size > 1', optionalOldSelf: true },
      ),
    ),
  );
  const shown = (rule: string, more = ''): string =>
    `{"Rule":"${rule}","Message":"","MessageExpression":"${more}","Reason":null,"FieldPath":"","OptionalOldSelf":null}`;
  assert.deepEqual(found, [
    [
      `${at}.properties[parts].items.x-kubernetes-validations[0].rule`,
      `Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within ${at}.properties[parts]`,
    ],
    [
      `${at}.x-kubernetes-validations[0].rule`,
      `Invalid value: ${shown('self.nothing \\u003e 1')}: compilation failed: ERROR: <input>:1:5: undefined field 'nothing'\n | self.nothing > 1\n | ....^`,
    ],
    [
      `${at}.x-kubernetes-validations[1].rule`,
      `Invalid value: ${shown('self.size')}: cel expression must evaluate to a bool`,
    ],
    [
      `${at}.x-kubernetes-validations[2].messageExpression`,
      `Invalid value: ${shown('self.size \\u003e 1', '1')}: messageExpression must evaluate to a string`,
    ],
    [
      `${at}.x-kubernetes-validations[3].optionalOldSelf`,
      'Invalid value: true: may not be set if oldSelf is not used in rule',
    ],
  ]);
});

test('rules that may cost too much are refused, each and all together', async () => {
  const names = { type: 'array', items: { type: 'string' } };
  const advice =
    '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';
  assert.deepEqual(
    await refuse(rootOf(object({ names }, 'self.names.all(a, self.names.exists_one(b, a == b))'))),
    [
      [
        'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule',
        `Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`,
      ],
      [
        'spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule',
        'Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      ],
      [
        'spec.validation.openAPIV3Schema',
        `Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${advice}`,
      ],
    ],
  );
  const bounded = { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 8 } };
  await define(
    'bounded',
    rootOf(object({ names: bounded }, 'self.names.all(a, self.names.exists_one(b, a == b))')),
  );
  const unbounded = {
    type: 'array',
    items: { ...object({ name: text }), ...rules('self.name.startsWith("a")') },
  };
  await define('unbounded', rootOf(object({ unbounded })));
});

test('defaults keep the rules that stand around them', async () => {
  const size = { ...integer, default: 7, ...rules('self < 5') };
  assert.deepEqual(await refuse(rootOf(object({ size }))), [
    [
      'spec.validation.openAPIV3Schema.properties[spec].properties[size].default',
      'Invalid value: 7: failed rule: self < 5',
    ],
  ]);
  await define('defaulted', rootOf(object({ size: { ...size, default: 4 } })));
});

test('a definition that stays as it is may have rules that are too dear, and is not compiled again', async () => {
  await define('stays', rootOf(object({ size: integer }, 'self.size > 0')));
  const labelled = await cluster.ask(
    'PATCH',
    `${crds}/stays.rules.example.com`,
    { metadata: { labels: { a: 'b' } } },
    merge,
  );
  assert.equal(labelled.status, 200, labelled.text);
  const spec = {
    versions: [definition('stays', rootOf(object({ size: integer }, 'self.sizes > 0')))['spec']],
  };
  const version = ((spec.versions[0] as JsonObject)['versions'] as JsonObject[])[0]!;
  const changed = await cluster.ask(
    'PATCH',
    `${crds}/stays.rules.example.com`,
    { spec: { versions: [version] } },
    merge,
  );
  assert.equal(changed.status, 422);
  assert.match(changed.message, /undefined field 'sizes'/);
});

test('who writes an object can make no rule run for ever', async () => {
  const names = { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 8 } };
  const rule = 'self.all(a, self.exists_one(b, a == b))';
  await define('dear', rootOf(object({ names: { ...names, ...rules(rule) } })));
  const many = Array.from({ length: 1_000 }, (_, i) => `n${i}`);
  assert.deepEqual(causesOf(await create('dear', 'a', { names: many })), [
    [
      'spec.names',
      `Invalid value: "array": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: ${rule}`,
    ],
  ]);
  const each = {
    type: 'array',
    maxItems: 120,
    items: { ...names, maxItems: 100, ...rules(rule, rule, rule, rule) },
  };
  await define('sum', rootOf(object({ each })));
  const lists = Array.from({ length: 120 }, () => many.slice(0, 100));
  const [first, ...others] = causesOf(await create('sum', 'a', { each: lists }));
  assert.equal(others.length, 0);
  assert.match(first![1], /running out of cost budget, no further validation rules will be run$/);
});

test('resources within resources say what they are, and rules know their names', async () => {
  const template = {
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
    ...rules('self.kind == "Pod" && self.metadata.name.startsWith("p")'),
  };
  await define('embeds', rootOf(object({ template })));
  const fine = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', nonsense: 1 }, spec: { any: 1 } };
  const made = await create('embeds', 'a', { template: fine });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual((made.body['spec'] as JsonObject)['template'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { any: 1 },
  });
  const wrong = await create('embeds', 'b', { template: { ...fine, metadata: { name: 'q' } } });
  assert.deepEqual(causesOf(wrong), [
    ['spec.template', 'Invalid value: failed rule: self.kind == "Pod" && self.metadata.name.startsWith("p")'],
  ]);
  const nameless = await create('embeds', 'c', {
    template: { kind: 'P_d', apiVersion: 'a/b/c', metadata: { name: '..', labels: { '!': 'x' } } },
  });
  assert.deepEqual(
    causesOf(nameless).map(([field]) => field),
    [
      'spec.template.apiVersion',
      'spec.template.kind',
      'spec.template.metadata.name',
      'spec.template.metadata.labels',
      'spec.template',
    ],
  );
});

test('a field that may not be null goes, or is its default', async () => {
  const list = { type: 'array', items: { ...object({ a: integer }), default: { a: 1 } } };
  const given = {
    size: { ...integer, default: 3 },
    other: integer,
    open: { ...integer, nullable: true },
    list,
  };
  await define('nulls', rootOf(object(given)));
  const made = await create('nulls', 'a', { size: null, other: null, open: null, list: [null] });
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(made.body['spec'], { size: 3, open: null, list: [{ a: 1 }] });
});

const apply = (plural: string, name: string, spec: JsonObject, manager: string): Promise<Answer> =>
  cluster.ask(
    'PATCH',
    `${path(plural)}/${name}?fieldManager=${manager}`,
    { apiVersion: 'rules.example.com/v1', kind: plural.toUpperCase(), metadata: { name }, spec },
    { contentType: 'application/apply-patch+yaml' },
  );

test('server-side apply takes what a schema keeps without naming it, and lists as the schema says', async () => {
  const open = { ...object({ named: text }), 'x-kubernetes-preserve-unknown-fields': true };
  const keyed = (key: string): JsonObject => ({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [key],
    items: {
      ...object({
        [key]: text,
        protocol: { ...text, default: 'TCP' },
        port: { 'x-kubernetes-int-or-string': true },
      }),
      required: [key],
    },
  });
  const set = { type: 'array', 'x-kubernetes-list-type': 'set', items: text };
  await define('applied', rootOf(object({ open, ports: keyed('name'), set })));
  const first = await apply(
    'applied',
    'a',
    { open: { named: 'a', other: { x: 1 } }, ports: [{ name: 'a', port: 1 }], set: ['a'] },
    'one',
  );
  assert.equal(first.status, 201, first.text);
  const second = await apply(
    'applied',
    'a',
    { open: { other: { y: 2 } }, ports: [{ name: 'b', port: 'http' }], set: ['b'] },
    'two',
  );
  assert.equal(second.status, 200, second.text);
  assert.deepEqual(second.body['spec'], {
    open: { named: 'a', other: { x: 1, y: 2 } },
    ports: [
      { name: 'a', port: 1, protocol: 'TCP' },
      { name: 'b', port: 'http', protocol: 'TCP' },
    ],
    set: ['a', 'b'],
  });
  const conflict = await apply('applied', 'a', { open: { other: { x: 2 } } }, 'two');
  assert.equal(conflict.status, 409, conflict.text);
  const gone = await apply('applied', 'a', { open: { named: 'a' } }, 'one');
  assert.deepEqual((gone.body['spec'] as JsonObject)['open'], { named: 'a', other: { y: 2 } });
});

test('what rules take is measured: each that is compiled, and each object that is asked about', async () => {
  const read = async (): Promise<number[]> => {
    const { text: told } = await cluster.ask('GET', '/metrics');
    return ['compilation', 'evaluation'].map((what) =>
      Number(new RegExp(`^apiserver_cel_${what}_duration_seconds_count (\\d+)$`, 'm').exec(told)?.[1] ?? 0),
    );
  };
  await define('measured', object({ spec: object({ size: integer }, 'self.size > 1', 'self.size < 9') }));
  const before = await read();
  for (const [name, size, status] of [
    ['a', 2, 201],
    ['b', 1, 422],
  ] as const) {
    const { status: got, text: why } = await create('measured', name, { size });
    assert.equal(got, status, why);
  }
  const [compiled, evaluated] = await read();
  assert.deepEqual([compiled! - before[0]!, evaluated! - before[1]!], [2, 2]);
});
