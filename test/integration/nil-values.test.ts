// Null where Go's types have no omitempty: in every answer, watch and store, and nowhere where rules, ownership or protobuf would trip over it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  startTestControlPlane,
  type TestControlPlane,
} from '../../src/controlplane/testing/test-control-plane.ts';

let cluster: TestControlPlane;
before(async () => {
  cluster = await startTestControlPlane();
});
after(() => cluster.close());

const protobuf = 'application/vnd.kubernetes.protobuf';
const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles';
const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
const ranges = '/api/v1/namespaces/default/limitranges';
const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
const scalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
const csiNodes = '/apis/storage.k8s.io/v1/csinodes';

const at = (value: unknown, path: string): unknown =>
  path.split('.').reduce((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);

const metadata = { name: 'bare' };
const template = {
  metadata: { labels: { app: 'bare' } },
  spec: { containers: [{ name: 'main', image: 'x' }], volumes: [{ name: 'all', projected: {} }] },
};
const cases: readonly (readonly [url: string, object: object, nulls: readonly string[]])[] = [
  [rbac, { metadata }, ['rules']],
  [slices, { metadata, addressType: 'IPv4' }, ['endpoints', 'ports']],
  [ranges, { metadata, spec: {} }, ['spec.limits']],
  [csiNodes, { metadata, spec: { drivers: [] } }, ['spec.drivers']],
  [
    scalers,
    { metadata, spec: { maxReplicas: 2, scaleTargetRef: { kind: 'Deployment', name: 'x' } } },
    ['status.currentMetrics'],
  ],
  [
    claims,
    {
      metadata,
      spec: {
        accessModes: ['ReadWriteOnce'],
        resources: { requests: { storage: '1Gi' } },
        dataSource: { kind: 'PersistentVolumeClaim', name: 'other' },
      },
    },
    ['spec.dataSource.apiGroup'],
  ],
  [
    '/apis/apps/v1/namespaces/default/deployments',
    { metadata, spec: { selector: { matchLabels: { app: 'bare' } }, template } },
    ['spec.template.spec.volumes.0.projected.sources'],
  ],
];

for (const [url, object, nulls] of cases)
  test(`${url}: ${nulls.join(', ')}`, async () => {
    const { ask } = cluster;
    const expectNulls = (answer: unknown): void => {
      for (const path of nulls) assert.equal(at(answer, path), null, path);
    };
    const dry = await ask('POST', `${url}?dryRun=All`, object);
    assert.equal(dry.status, 201, dry.text);
    expectNulls(dry.body);
    const made = await ask('POST', url, object);
    assert.equal(made.status, 201, made.text);
    expectNulls(made.body);
    const one = await ask('GET', `${url}/bare`);
    expectNulls(one.body);
    const list = await ask('GET', url);
    expectNulls(at(list.body, 'items.0'));

    // What was read is written back, as JSON, as protobuf and as a patch: nothing changes.
    const sameAgain = (answer: { readonly status: number; readonly text: string }): void => {
      assert.equal(answer.status, 200, answer.text);
      assert.deepEqual(JSON.parse(answer.text), one.body);
    };
    sameAgain(await ask('PUT', `${url}/bare`, one.body));
    const { bytes } = await ask('GET', `${url}/bare`, undefined, { accept: protobuf });
    sameAgain(await ask('PUT', `${url}/bare`, bytes, { contentType: protobuf }));
    sameAgain(await ask('PATCH', `${url}/bare`, {}));
    sameAgain(await ask('PATCH', `${url}/bare`, [], { contentType: 'application/json-patch+json' }));
  });

test('rules of null: bound, applied, patched, and shown as a table', async () => {
  const { ask } = cluster;
  const url = `${rbac}/applied`;
  const apply = (rules: unknown): ReturnType<typeof ask> =>
    ask(
      'PATCH',
      `${url}?fieldManager=test`,
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'applied' },
        ...(rules === undefined ? {} : { rules }),
      },
      { contentType: 'application/apply-patch+yaml' },
    );
  const rule = { apiGroups: [''], resources: ['pods'], verbs: ['get'] };
  for (const [rules, expected] of [
    [undefined, null],
    [[rule], [rule]],
    [[], null],
    [null, null],
    [[rule], [rule]],
    [undefined, null],
  ] as const) {
    const answer = await apply(rules);
    assert.ok(answer.status === 200 || answer.status === 201, answer.text);
    assert.deepEqual(answer.body['rules'], expected);
  }
  for (const value of [[rule], null]) {
    const current = (await ask('GET', url)).body['rules'];
    const operations = [
      { op: 'test', path: '/rules', value: current },
      { op: 'replace', path: '/rules', value },
    ];
    const replaced = await ask('PATCH', url, operations, { contentType: 'application/json-patch+json' });
    assert.deepEqual(replaced.body['rules'], value);
  }
  const none = await ask('PATCH', url, { rules: null });
  assert.equal(none.body['rules'], null);
  const table = await ask('GET', rbac, undefined, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
  assert.equal(table.status, 200, table.text);
});
