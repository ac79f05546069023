// Forms that a client asks for and an answer doesn't have: 406 before anything is done, or the next form of its list.
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

const as = (form: string, type = 'json'): string =>
  `application/${type === 'json' ? 'json' : 'vnd.kubernetes.protobuf'};as=${form};v=v1;g=meta.k8s.io`;
const mediaTypes =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';
const maps = '/api/v1/namespaces/default/configmaps';
const review = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const question = { spec: { resourceAttributes: { verb: 'get', resource: 'pods' } } };

test('a review and a token have no table: 406, and the next media type when there is one', async () => {
  const serviceAccount = { metadata: { name: 'tabled' } };
  await cluster.ask('POST', '/api/v1/namespaces/default/serviceaccounts', serviceAccount);
  for (const [path, body] of [
    [review, question],
    ['/api/v1/namespaces/default/serviceaccounts/tabled/token', { spec: {} }],
  ] as const) {
    const table = await cluster.ask('POST', path, body, { accept: as('Table') });
    assert.equal(table.status, 406, path);
    assert.equal(table.message, mediaTypes);
    const next = await cluster.ask('POST', path, body, { accept: `${as('Table')},application/json` });
    assert.equal(next.status, 201, next.text);
    assert.equal(next.body['kind'], path === review ? 'SelfSubjectAccessReview' : 'TokenRequest');
  }
});

test('metadata of a list is asked for as a list’s, and that of an object as an object’s', async () => {
  await cluster.ask('POST', maps, { metadata: { name: 'a' } });
  for (const [path, form, refusal] of [
    [maps, 'PartialObjectMetadataList', undefined],
    [`${maps}/a`, 'PartialObjectMetadata', undefined],
    [
      maps,
      'PartialObjectMetadata',
      'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
    ],
    [
      `${maps}/a`,
      'PartialObjectMetadataList',
      'you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)',
    ],
    [
      '/apis/rbac.authorization.k8s.io/v1/clusterroles',
      'PartialObjectMetadata',
      'you requested PartialObjectMetadata, but the requested object is a list (*rbac.ClusterRoleList)',
    ],
  ] as const) {
    const answer = await cluster.ask('GET', path, undefined, { accept: as(form) });
    assert.equal(answer.status, refusal === undefined ? 200 : 406, answer.text);
    if (refusal === undefined) assert.equal(answer.body['kind'], form);
    else assert.equal(answer.message, refusal);
  }
});

test('a table has no protobuf form', async () => {
  const table = await cluster.ask('GET', maps, undefined, { accept: as('Table', 'protobuf') });
  assert.deepEqual([table.status, table.message], [406, mediaTypes]);
  const next = await cluster.ask('GET', maps, undefined, {
    accept: `${as('Table', 'protobuf')},${as('Table')}`,
  });
  assert.equal(next.body['kind'], 'Table');
});

test('the scale of a workload is a row of how many there should be and how many there are', async () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const labels = { a: 'b' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const spec = { replicas: 3, selector: { matchLabels: labels }, template };
  const made = await cluster.ask('POST', deployments, { metadata: { name: 'scaled' }, spec });
  assert.equal(made.status, 201, made.text);
  const { body } = await cluster.ask('GET', `${deployments}/scaled/scale`, undefined, {
    accept: `${as('Table')},application/json`,
  });
  assert.equal(body['kind'], 'Table');
  const columns = body['columnDefinitions'] as { name: string; type: string }[];
  assert.deepEqual(
    columns.map(({ name, type }) => [name, type]),
    [
      ['Name', 'string'],
      ['Desired', 'integer'],
      ['Available', 'integer'],
      ['Age', 'string'],
    ],
  );
  const [row] = body['rows'] as { cells: unknown[] }[];
  assert.deepEqual(row?.cells.slice(0, 3), ['scaled', 3, 0]);
  const plain = await cluster.ask('GET', `${deployments}/scaled/scale`);
  assert.equal(plain.body['kind'], 'Scale');
});
