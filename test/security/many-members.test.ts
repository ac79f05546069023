// Objects with thousands of members of one kind: what compares them with one another, or with what is stored, does so in linear time.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Answer,
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';
import { eventually } from '../harness/eventually.ts';

let plane: TestControlPlane;
before(async () => {
  plane = await startTestControlPlane();
  await plane.ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
});
after(() => plane.close());

const list = <T>(count: number, of: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => of(i));
const pods = '/api/v1/namespaces/default/pods';
const container = { name: 'c', image: 'i' };
const create = (name: string, spec: object, metadata: object = {}): Promise<Answer> =>
  plane.ask('POST', pods, { metadata: { name, ...metadata }, spec: { containers: [container], ...spec } });
const affinity = (...terms: object[]): object => ({
  affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } },
});

const ways: readonly (readonly [what: string, ask: () => Promise<Answer>, status: number])[] = [
  ['warnings', () => create('warned', affinity(...list(20_000, () => ({ topologyKey: 'a' })))), 201],
  [
    'warnings of many host aliases',
    () => create('aliases', { hostAliases: list(11_000, () => ({ ip: '10.0.0.1', hostnames: ['a'] })) }),
    201,
  ],
  [
    'tolerations',
    () => create('tolerant', { tolerations: list(9_000, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
    201,
  ],
  [
    'a label of a pod with tolerations',
    () => plane.ask('PATCH', `${pods}/tolerant`, { metadata: { labels: { a: 'b' } } }),
    200,
  ],
  [
    'keys of labels',
    () =>
      create(
        'keys',
        affinity({
          topologyKey: 'a',
          labelSelector: {},
          matchLabelKeys: list(20_000, (i) => `a${i}`),
          mismatchLabelKeys: list(20_000, (i) => `b${i}`),
        }),
      ),
    201,
  ],
  [
    'spread over places',
    () =>
      create('spread', {
        topologySpreadConstraints: list(11_000, (i) => ({
          maxSkew: 1,
          topologyKey: `k${i}`,
          whenUnsatisfiable: 'DoNotSchedule',
        })),
      }),
    201,
  ],
  [
    'usages of a certificate',
    () =>
      plane.ask('POST', '/apis/certificates.k8s.io/v1/certificatesigningrequests', {
        metadata: { name: 'usages' },
        spec: { signerName: 'a.b/c', request: 'AAAA', usages: list(45_000, (i) => `u${i}`) },
      }),
    422,
  ],
  [
    'annotations of containers',
    () =>
      create(
        'annotated',
        { containers: list(9_000, (i) => ({ name: `c${i}`, image: 'i' })) },
        {
          annotations: Object.fromEntries(
            list(9_000, (i) => [`container.apparmor.security.beta.kubernetes.io/x${i}`, 'unconfined']),
          ),
        },
      ),
    422,
  ],
];

for (const [what, ask, status] of ways)
  test(`${what} by the thousand are compared in linear time`, async () => {
    const from = process.cpuUsage();
    const answer = await ask();
    const { user } = process.cpuUsage(from);
    assert.equal(answer.status, status, answer.text.slice(0, 500));
    assert.ok(user < 2_500_000, `${user / 1000} ms`);
  });

async function define(kind: string, spec: object): Promise<(name: string, spec: unknown) => Promise<Answer>> {
  const plural = `${kind.toLowerCase()}s`;
  const schema = { type: 'object', properties: { spec } };
  const made = await plane.ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  assert.equal(made.status, 201, made.text.slice(0, 500));
  const apiVersion = 'example.com/v1';
  const url = `/apis/${apiVersion}/namespaces/default/${plural}`;
  await eventually(async () => assert.equal((await plane.ask('GET', url)).status, 200));
  return (name, of) => plane.ask('POST', url, { apiVersion, kind, metadata: { name }, spec: of });
}

test('thousands of choices that a schema gives to thousands of values are not tried without end', async () => {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const many = Object.fromEntries(list(9_900, (i) => [`y${i}`, i]));
  const named = await define('Named', { ...anything, anyOf: list(5_000, (i) => ({ required: [`x${i}`] })) });
  // Seven seconds.
  const from = process.cpuUsage();
  assert.match(
    (await named('a', many)).message,
    /"spec" must validate at least one schema \(anyOf\), spec\.x0: Required value\]$/,
  );
  assert.equal((await named('b', { ...many, x4999: 1 })).status, 201);
  const limits = list(5_000, (i) => ({ properties: { [`y${i}`]: { maximum: -1 } } }));
  const bounded = await define('Bounded', { ...anything, anyOf: limits });
  assert.equal((await bounded('a', { y1: -2 })).status, 201);
  assert.match(
    (await bounded('b', many)).message,
    /: <nil>: Invalid value: the object has too many values for the choices of its schema to be tried; use fewer$/,
  );
  const texts = list(20_000, (i) => `t${i}`);
  const chosen = await define('Chosen', { type: 'array', items: { type: 'string', enum: texts } });
  assert.equal((await chosen('a', texts)).status, 201);
  const refused = await chosen(
    'b',
    list(20_000, (i) => `u${i}`),
  );
  assert.match(refused.message, /spec\[0\]: Unsupported value: "u0": supported values: "t0", "t1"/);
  const { user } = process.cpuUsage(from);
  assert.ok(user < 6_000_000, `${user / 1000} ms`);
});

test('thousands of nulls, deep in what is applied, are looked for once', async () => {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  await define('Emptied', anything);
  let deep: unknown = list(45_000, () => null);
  for (let i = 0; i < 450; i++) deep = { a: deep };
  const from = process.cpuUsage();
  const answer = await plane.ask(
    'PATCH',
    '/apis/example.com/v1/namespaces/default/emptieds/a?fieldManager=m',
    { apiVersion: 'example.com/v1', kind: 'Emptied', metadata: { name: 'a' }, spec: { deep } },
    { contentType: 'application/apply-patch+yaml' },
  );
  const { user } = process.cpuUsage(from);
  assert.equal(answer.status, 201, answer.message);
  // Paths of each were 2.3 s.
  assert.ok(user < 1_500_000, `${user / 1000} ms`);
});

const tables = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

/** Objects of a kind with columns that show what these paths lead to; answers the cells of one. */
async function cellsOf(
  plural: string,
  paths: readonly string[],
  spec: object,
): Promise<{ readonly cells: readonly unknown[]; readonly userMs: number }> {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: open } };
  const columns = paths.map((jsonPath, i) => ({ name: `c${i}`, type: 'string', jsonPath }));
  const names = { plural, kind: plural };
  const made = await plane.ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names,
      versions: [{ ...version, additionalPrinterColumns: columns }],
    },
  });
  assert.equal(made.status, 201, made.text.slice(0, 500));
  const url = `/apis/example.com/v1/namespaces/default/${plural}`;
  await eventually(async () => assert.equal((await plane.ask('GET', url)).status, 200));
  const object = { apiVersion: 'example.com/v1', kind: plural, metadata: { name: 'a' }, spec };
  assert.equal((await plane.ask('POST', url, object)).status, 201);
  const from = process.cpuUsage();
  const { body } = await plane.ask('GET', url, undefined, tables);
  const [row] = body['rows'] as { cells: unknown[] }[];
  return { cells: row!.cells, userMs: process.cpuUsage(from).user / 1000 };
}

test('thousands of columns that look for something in thousands of members do not stop the table', async () => {
  const paths = list(9_000, (i) => `.spec[*].x${i}`);
  const { cells, userMs } = await cellsOf(
    'columns',
    paths,
    list(20_000, () => ({})),
  );
  // Sixteen seconds.
  assert.ok(userMs < 4_000, `${userMs} ms`);
  assert.deepEqual([cells.length, cells[0], cells.at(-1)], [9_001, 'a', null]);
});

test('thousands of columns that show the same long text do not make a table of gigabytes', async () => {
  const text = 'x'.repeat(100_000);
  const paths = list(2_000, () => '.spec.text');
  const { cells } = await cellsOf('texts', ['.spec', ...paths], { text });
  assert.deepEqual(cells.slice(0, 3), ['a', JSON.stringify({ text }), text]);
  const length = cells.reduce((sum: number, cell) => sum + String(cell).length, 0);
  assert.ok(length < 500_000, `${length}`);
  assert.deepEqual([cells.length, cells.at(-1)], [2_002, null]);
});

test('a toleration may last longer, and may not be lost', async () => {
  const tolerations = [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 5 }];
  assert.equal((await create('one', { tolerations })).status, 201);
  const put = async (change: (all: { key?: string; tolerationSeconds?: number }[]) => object[]) => {
    const { body } = await plane.ask('GET', `${pods}/one`);
    const spec = body['spec'] as { tolerations: { key?: string; tolerationSeconds?: number }[] };
    return plane.ask('PUT', `${pods}/one`, {
      ...body,
      spec: { ...spec, tolerations: change(spec.tolerations) },
    });
  };
  const longer = await put((all) => all.map((one) => ({ ...one, tolerationSeconds: 50 })));
  assert.equal(longer.status, 200, longer.text);
  const more = await put((all) => [...all, { key: 'b', operator: 'Exists' }]);
  assert.equal(more.status, 200, more.text);
  const other = await put((all) => all.map((one) => ({ ...one, key: one.key === 'a' ? 'c' : one.key })));
  assert.equal(other.status, 422);
  assert.match(other.message, /existing toleration can not be modified except its tolerationSeconds/);
});
