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
