// What is owned through a subresource that writes a part of an object: that part, whatever else was applied.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
type Answer = Awaited<ReturnType<typeof ask>>;

const apply = (url: string, body: object): Promise<Answer> =>
  ask('PATCH', `${url}?fieldManager=one&force=true`, body, { contentType: 'application/apply-patch+yaml' });

interface Entry {
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: object;
}
const ownedThrough = (subresource: string, { body }: Answer): readonly object[] =>
  ((body['metadata'] as { managedFields: Entry[] }).managedFields ?? [])
    .filter((entry) => entry.operation === 'Apply' && entry.subresource === subresource)
    .map(({ fieldsV1 }) => fieldsV1);

const pods = '/api/v1/namespaces/default/pods';
const container = { name: 'c', image: 'i', resources: { limits: { cpu: '1' }, requests: { cpu: '1' } } };
const pod = (spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', labels: { applied: 'too' } },
  spec,
});

test('resources through resize, ephemeral containers through theirs', async () => {
  const account = { metadata: { name: 'default' } };
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', account);
  assert.equal((await ask('POST', pods, pod({ containers: [container] }))).status, 201);

  const resources = { limits: { cpu: '2' }, requests: { cpu: '1' } };
  const resized = await apply(`${pods}/p/resize`, pod({ containers: [{ ...container, resources }] }));
  assert.equal(resized.status, 200, resized.text);
  assert.deepEqual(ownedThrough('resize', resized), [
    {
      'f:spec': {
        'f:containers': {
          'k:{"name":"c"}': {
            '.': {},
            'f:resources': { 'f:limits': { 'f:cpu': {} }, 'f:requests': { 'f:cpu': {} } },
          },
        },
      },
    },
  ]);

  const debug = { name: 'debug', image: 'busybox' };
  const debugged = await apply(`${pods}/p/ephemeralcontainers`, pod({ ephemeralContainers: [debug] }));
  assert.equal(debugged.status, 200, debugged.text);
  assert.deepEqual(ownedThrough('ephemeralcontainers', debugged), [
    {
      'f:spec': {
        'f:ephemeralContainers': { 'k:{"name":"debug"}': { '.': {}, 'f:image': {}, 'f:name': {} } },
      },
    },
  ]);
});

test('labels through the status of a definition, which leaves them as they were applied, as upstream', async () => {
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' };
  const identity = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
  const schema = { openAPIV3Schema: { type: 'object' } };
  const created = await ask('POST', crds, {
    ...identity,
    metadata: { name: 'things.own.example.com' },
    spec: {
      group: 'own.example.com',
      scope: 'Cluster',
      names,
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  });
  assert.equal(created.status, 201, created.text);
  const applied = await apply(`${crds}/things.own.example.com/status`, {
    ...identity,
    metadata: { name: 'things.own.example.com', labels: { a: 'b' } },
  });
  assert.equal(applied.status, 200, applied.text);
  assert.deepEqual((applied.body['metadata'] as { labels: object }).labels, { a: 'b' });
  assert.deepEqual(ownedThrough('status', applied), [{ 'f:metadata': { 'f:labels': { 'f:a': {} } } }]);
});
