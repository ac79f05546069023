// Expressions and texts that tenants choose: what a pattern, a path or a format may cost, and what is refused at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';

const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const things = '/apis/example.com/v1/namespaces/default/things';
const a = (length: number): string => 'a'.repeat(length);

function definition(properties: object, columns: object[] = []): object {
  const schema = { openAPIV3Schema: { type: 'object', properties } };
  return {
    metadata: { name: 'things.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'things', kind: 'Thing', singular: 'thing', listKind: 'ThingList' },
      versions: [{ name: 'v1', served: true, storage: true, schema, additionalPrinterColumns: columns }],
    },
  };
}

/** Milliseconds of this process's time. */
async function cost(run: () => Promise<unknown>): Promise<number> {
  const from = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}

const thing = (fields: object): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { generateName: 't-' },
  ...fields,
});

async function define(server: TestControlPlane, properties: object): Promise<void> {
  const { status, message } = await server.ask('POST', crds, definition(properties));
  assert.equal(status, 201, message);
  for (;;) {
    const { body } = await server.ask('GET', `${crds}/things.example.com`);
    const conditions = (body.status as { conditions?: { type: string; status: string }[] }).conditions ?? [];
    if (conditions.some((one) => one.type === 'Established' && one.status === 'True')) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test('patterns, formats and paths of tenants hold nobody up', async (t) => {
  const server = await startTestControlPlane();
  t.after(() => server.close());
  await define(server, {
    nested: { type: 'string', pattern: '^(a+)+$' },
    twice: { type: 'string', pattern: '(a|aa)+$' },
    dots: { type: 'string', pattern: '(.*)(.*)(.*)(.*)(.*)[^a]$' },
    wide: { type: 'string', pattern: '(a|b|c|d|e|f|g|h){1,200}(i|j){1,200}$' },
    letters: { type: 'string', pattern: '\\pL{1,500}$' },
    words: { type: 'array', items: { type: 'string', pattern: '\\pL{1,500}$' } },
    duration: { type: 'string', format: 'duration' },
    bytes: { type: 'string', format: 'byte' },
    address: { type: 'string', format: 'ipv6' },
    name: { type: 'string', pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' },
  });
  const rows: readonly (readonly [fields: object, status: number, says?: RegExp])[] = [
    [{ nested: a(100) }, 201],
    [{ nested: `${a(500_000)}!` }, 422, /nested in body should match '\^\(a\+\)\+\$'/],
    [{ twice: `${a(500_000)}!` }, 422],
    [{ dots: a(500_000) }, 422],
    [{ wide: 'abcdefgh'.repeat(100_000) }, 422, /too long to be tried; use shorter ones/],
    [{ letters: `${'é'.repeat(300_000)}!` }, 422, /too long to be tried/],
    [{ words: Array.from({ length: 3_000 }, () => `${'é'.repeat(200)}!`) }, 422],
    [{ words: ['é', 'été'] }, 201],
    [{ duration: '1'.repeat(1_000_000) }, 422, /must be of type duration/],
    [{ duration: '1h30m' }, 201],
    [{ bytes: `${a(1_000_000)}!` }, 422],
    [{ address: `${':'.repeat(1_000_000)}g` }, 422],
    [{ name: a(500_000) }, 201],
    [{ name: `${a(500_000)}-` }, 422],
  ];
  let most = 0;
  for (const [fields, expected, says] of rows) {
    const ms = await cost(async () => {
      const { status, message } = await server.ask('POST', things, thing(fields));
      assert.equal(status, expected, `${JSON.stringify(fields).slice(0, 60)}: ${message.slice(0, 200)}`);
      if (says !== undefined) assert.ok(says.test(message), message.slice(-300));
    });
    assert.ok(ms < 3_000, `${JSON.stringify(fields).slice(0, 60)} took ${ms} ms`);
    most = Math.max(most, ms);
  }
  const paths: readonly string[] = [
    `.spec[?(${' '.repeat(400_000)})]`,
    `.spec[?(@${' '.repeat(400_000)}=1)]`,
    `.spec[?(@.a==${' '.repeat(400_000)}x]`,
    `.a${'.a'.repeat(100_000)}`,
  ];
  for (const jsonPath of paths) {
    const column = { name: 'x', type: 'string', jsonPath };
    const body = definition({}, [column]) as { metadata: { name: string } };
    const ms = await cost(() => server.ask('PUT', `${crds}/things.example.com`, body));
    assert.ok(ms < 3_000, `a path of ${jsonPath.length} took ${ms} ms`);
    most = Math.max(most, ms);
  }
  for (const url of [`/${'/'.repeat(15_000)}x`, `/api/v1/${'/'.repeat(15_000)}x`])
    assert.ok((await cost(() => server.ask('GET', url))) < 500);
  t.diagnostic(`${rows.length} objects, ${paths.length} paths; at most ${Math.round(most)} ms`);
});

test('a schema whose pattern is none is refused, with its place', async (t) => {
  const server = await startTestControlPlane();
  t.after(() => server.close());
  const at = 'spec.validation.openAPIV3Schema.properties[foo]';
  for (const [schema, says] of [
    [
      { type: 'string', pattern: '+' },
      `${at}.pattern: Invalid value: "+": must be a valid regular expression, but isn't: error parsing regexp: missing argument to repetition operator: \`+\``,
    ],
    [{ type: 'array', items: { type: 'string', pattern: '(?=a)' } }, `${at}.items.pattern: Invalid value`],
    [
      { type: 'string', anyOf: [{}, { pattern: '(a{1000}){1000}' }] },
      `${at}.anyOf[1].pattern: Invalid value`,
    ],
    [{ type: 'string', not: { pattern: '(' } }, `${at}.not.pattern: Invalid value`],
  ] as const) {
    const { status, message } = await server.ask('POST', crds, definition({ foo: schema }));
    assert.equal(status, 422, message);
    assert.ok(message.includes(says), message);
  }
});
