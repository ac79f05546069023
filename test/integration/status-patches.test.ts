// A patch of a status: what it touches is read as a body is, and all else stays as it is stored.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const url = '/api/v1/namespaces/default/pods/a';

test('a patch of a status is read as a body is, changes nothing beside it, and is owned by who sent it', async (t) => {
  const { ask, close } = await startTestControlPlane();
  t.after(close);
  await ask('POST', '/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
  const pod = {
    metadata: { name: 'a', labels: { app: 'web' } },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  const created = (await ask('POST', '/api/v1/namespaces/default/pods', pod)).body;
  assert.ok(created.spec);
  const patch = (body: object, kind = 'strategic-merge-patch+json'): Promise<Answer> =>
    ask('PATCH', `${url}/status`, body, { contentType: `application/${kind}` });

  const odd = await patch({ status: { message: 'm', odd: 1 }, spec: { hostname: 'h', strange: 2 } });
  assert.deepEqual(odd.warnings, [
    '299 - "unknown field \\"spec.strange\\""',
    '299 - "unknown field \\"status.odd\\""',
  ]);
  assert.deepEqual(odd.body.spec, created.spec);
  assert.deepEqual(odd.body.status, { ...(created.status as object), message: 'm' });
  assert.equal((odd.body.metadata as { generation: number }).generation, 1);

  const wrong = await patch({ status: { message: 7 } }, 'merge-patch+json');
  assert.equal(wrong.status, 422);
  assert.match(
    wrong.message,
    /cannot unmarshal number into Go struct field PodStatus.status.message of type string/,
  );
  const spec = await patch({ spec: { containers: 'none' } }, 'merge-patch+json');
  assert.equal(spec.status, 422);

  const listed = await patch([{ op: 'add', path: '/status/reason', value: 'r' }], 'json-patch+json');
  assert.deepEqual(listed.body.status, { ...(created.status as object), message: 'm', reason: 'r' });
  const { managedFields } = listed.body.metadata as { managedFields: Record<string, unknown>[] };
  assert.deepEqual(
    managedFields.map(({ subresource, fieldsV1 }) => [subresource, Object.keys(fieldsV1 as object)]),
    [
      [undefined, ['f:metadata', 'f:spec']],
      ['status', ['f:status']],
    ],
  );
  assert.deepEqual((await ask('GET', url)).body, listed.body);
});

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const selector = { matchLabels: { a: 'b' } };
const inDefault = 'namespaces/default';
const service = { name: 's', namespace: 'default' };
const rule = { operations: ['*'], apiGroups: ['q'], apiVersions: ['*'], resources: ['*'] };
/** What of its metadata each kind puts back when its status is written, and one of each form. */
const kinds: readonly (readonly [
  url: string,
  kept: readonly string[] | 'all',
  spec: object,
  name?: string,
])[] = [
  [`apps/v1/${inDefault}/deployments`, ['labels'], { selector, template }],
  [`apps/v1/${inDefault}/replicasets`, [], { selector, template }],
  [
    'admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    'all',
    { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'true' }] },
  ],
  [
    'apiregistration.k8s.io/v1/apiservices',
    'all',
    { group: 'z.io', version: 'v1', service, groupPriorityMinimum: 10, versionPriority: 10 },
    'v1.z.io',
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1/flowschemas',
    'all',
    { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 500 },
  ],
  [
    'flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
    'all',
    { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  ],
  ['networking.k8s.io/v1/servicecidrs', 'all', { cidrs: ['10.200.0.0/24'] }],
  [`resource.k8s.io/v1/${inDefault}/resourceclaims`, 'all', {}],
  [
    'storage.k8s.io/v1/volumeattachments',
    'all',
    { attacher: 'x', nodeName: 'n', source: { persistentVolumeName: 'p' } },
  ],
];
const fields = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;
const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };

test('a write of a status puts back as much of the metadata as upstream does for its kind', async (t) => {
  const { ask, close } = await startTestControlPlane();
  t.after(close);
  const before = { labels: { l: '1' }, annotations: { q: '1' }, finalizers: ['x.io/f'] };
  const sent = {
    labels: { l: '2' },
    annotations: { q: '2' },
    finalizers: ['x.io/g'],
    ownerReferences: [owner],
  };
  for (const [path, kept, spec, name = 'one'] of kinds) {
    const made = await ask('POST', `/apis/${path}`, { metadata: { name, ...before }, spec });
    assert.equal(made.status, 201, made.text);
    const { status, text, body } = await ask('PATCH', `/apis/${path}/${name}/status`, { metadata: sent });
    assert.equal(status, 200, text);
    const is = body.metadata as Record<string, unknown>;
    const expected = { ...sent, ...(kept === 'all' ? { ...before, ownerReferences: undefined } : {}) };
    if (kept !== 'all')
      for (const field of kept) Object.assign(expected, { [field]: before[field as 'labels'] });
    for (const field of fields) assert.deepEqual(is[field], expected[field], `${path} ${field}`);
  }
});
