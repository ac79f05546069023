// Rules of custom resources against those who write them and those who write objects: nobody waits long for either.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { JsonObject } from '../../src/apimachinery/declaration.ts';
import { type Answer, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

const cluster = await startTestControlPlane();
after(() => cluster.close());

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const rules = (...given: string[]): JsonObject => ({
  'x-kubernetes-validations': given.map((rule) => ({ rule })),
});
const definition = (plural: string, field: JsonObject): JsonObject => ({
  metadata: { name: `${plural}.hostile.example.com` },
  spec: {
    group: 'hostile.example.com',
    scope: 'Namespaced',
    names: { plural, kind: plural.toUpperCase() },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', properties: { field } } },
      },
    ],
  },
});
const path = (plural: string): string => `/apis/hostile.example.com/v1/namespaces/default/${plural}`;
const propose = (field: JsonObject): Promise<Answer> =>
  cluster.ask('POST', `${crds}?dryRun=All`, definition('proposals', field));

async function define(plural: string, field: JsonObject): Promise<void> {
  const made = await cluster.ask('POST', crds, definition(plural, field));
  assert.equal(made.status, 201, made.text.slice(0, 1_000));
  await eventually(async () => assert.equal((await cluster.ask('GET', path(plural))).status, 200), {
    everyMs: 5,
  });
}

const text: JsonObject = { type: 'string', maxLength: 100_000 };

test('a rule that is a bomb is refused with the definition: nested, long, or without end', async () => {
  const bombs = [
    '('.repeat(50_000),
    '!'.repeat(50_000),
    `self${'.a'.repeat(20_000)}`,
    `${'['.repeat(300)}1${']'.repeat(300)}`,
    `self == "${'a'.repeat(500_000)}" + `,
    `${'self == "" || '.repeat(5_000)}`,
    'self.matches("(a{1000}){1000}")',
    `${'[1, 2, 3, 4].all(a, '.repeat(40)}true${')'.repeat(40)}`,
  ];
  for (const bomb of bombs) {
    const answer = await propose({ ...text, ...rules(bomb) });
    assert.equal(answer.status, 422, `${bomb.slice(0, 40)}: ${answer.text.slice(0, 300)}`);
    assert.ok(answer.text.length < 4_000_000);
  }
});

test('a pattern that takes other engines for ever is matched, and texts that make themselves longer end', async () => {
  await define('patterns', { ...text, ...rules('self.matches("^(a+)+$")') });
  const slow = await cluster.ask('POST', path('patterns'), {
    metadata: { name: 'a' },
    field: `${'a'.repeat(99_999)}!`,
  });
  assert.match(slow.message, /failed rule: self\.matches/);
  const doubling = 'self.map(a, a + a).map(a, a + a).map(a, a + a).all(a, a.size() > 0)';
  const list = { type: 'array', maxItems: 20, items: { type: 'string', maxLength: 2_000 } };
  await define('texts', { ...list, ...rules(doubling) });
  const field = new Array(20).fill('a'.repeat(2_000));
  const made = await cluster.ask('POST', path('texts'), { metadata: { name: 'a' }, field });
  assert.equal(made.status, 201, made.text.slice(0, 500));
});

test('others are answered while rules of one object use up their budget', async () => {
  const items = {
    type: 'array',
    maxItems: 100,
    items: { type: 'string', maxLength: 8 },
    ...rules(...new Array(4).fill('self.all(a, self.exists_one(b, a == b))')),
  };
  await define('dears', { type: 'array', maxItems: 120, items });
  const names = Array.from({ length: 100 }, (_, i) => `n${i}`);
  const ended: string[] = [];
  const create = cluster
    .ask('POST', path('dears'), { metadata: { name: 'a' }, field: new Array(120).fill(names) })
    .then((answer) => {
      ended.push('create');
      return answer;
    });
  for (let i = 0; i < 3; i++) await cluster.ask('GET', '/api/v1/namespaces/default');
  ended.push('gets');
  assert.match((await create).message, /running out of cost budget/);
  assert.deepEqual(ended, ['gets', 'create']);
});

test('thousands of broken rules are one short answer', async () => {
  const item = { type: 'integer', ...rules('self > 5') };
  await define('many', { type: 'array', maxItems: 5_000, items: item });
  const field = new Array(5_000).fill(1);
  const refused = await cluster.ask('POST', path('many'), { metadata: { name: 'a' }, field });
  assert.equal(refused.status, 422);
  assert.ok(refused.text.length < 600_000, String(refused.text.length));
});

test('names that JavaScript knows are names like any other', async () => {
  const properties: JsonObject = JSON.parse(
    '{"__proto__":{"type":"integer"},"constructor":{"type":"string"},"hasOwnProperty":{"type":"string"}}',
  );
  await define('names', {
    type: 'object',
    properties,
    ...rules('has(self.constructor) && self.constructor == "x"', '!has(self.hasOwnProperty)'),
  });
  const create = (name: string, field: string): Promise<Answer> =>
    cluster.ask('POST', path('names'), JSON.parse(`{"metadata":{"name":"${name}"},"field":${field}}`));
  assert.equal((await create('a', '{"__proto__":1,"constructor":"x"}')).status, 201);
  assert.equal((await create('b', '{}')).status, 422);
  assert.equal((await create('c', '{"constructor":"x","hasOwnProperty":"y"}')).status, 422);
});
