// What the body of a write says it is: its name, namespace, uid and revision are judged also where it is not the object itself.
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

const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const merge = { contentType: 'application/merge-patch+json' };
type Answer = Awaited<ReturnType<TestControlPlane['ask']>>;
const said = ({ status, body }: Answer): unknown[] => [status, body['message']];
const metaOf = ({ body }: Answer): Record<string, string> => body['metadata'] as Record<string, string>;

test('a scale is of the object that its address names, or it is refused', async () => {
  const made = await cluster.ask('POST', deployments, {
    metadata: { name: 'web' },
    spec: { selector: { matchLabels: { a: 'b' } }, template },
  });
  assert.equal(made.status, 201, made.text);
  const { uid = '' } = metaOf(made);
  const path = `${deployments}/web/scale`;
  const put = (metadata: object): Promise<Answer> =>
    cluster.ask('PUT', path, { metadata, spec: { replicas: 3 } });
  const patch = (metadata: object): Promise<Answer> =>
    cluster.ask('PATCH', path, { metadata, spec: { replicas: 3 } }, merge);
  for (const write of [put, patch]) {
    assert.deepEqual(said(await write({ name: 'db' })), [
      400,
      'the name of the object (db) does not match the name on the URL (web)',
    ]);
    assert.deepEqual(said(await write({ name: 'web', namespace: 'kube-system' })), [
      400,
      'the namespace of the provided object does not match the namespace sent on the request',
    ]);
    assert.deepEqual(said(await write({ name: 'web', resourceVersion: '1' })), [
      409,
      'Operation cannot be fulfilled on deployments.apps "web": the object has been modified; please apply your changes to the latest version and try again',
    ]);
  }
  assert.deepEqual(said(await put({})), [
    400,
    'the name of the object (web based on URL) was undeterminable: name must be provided',
  ]);
  assert.deepEqual(said(await patch({ name: null })), said(await put({})));
  const other = `Precondition failed: UID in precondition: other, UID in object meta: ${uid}`;
  assert.deepEqual(said(await put({ name: 'web', uid: 'other' })), [
    409,
    `Operation cannot be fulfilled on deployments.apps "web": StorageError: invalid object, Code: 4, Key: /registry/deployments/default/web, ResourceVersion: 0, AdditionalErrorMsg: ${other}`,
  ]);
  assert.deepEqual(said(await patch({ uid: 'other' })), [
    409,
    `Operation cannot be fulfilled on deployments/scale.apps "web": ${other}`,
  ]);
  const right = await put({ name: 'web', namespace: 'default', uid });
  assert.deepEqual([right.status, right.body['spec']], [200, { replicas: 3 }]);
  // A body is judged before anybody looks for the object.
  assert.equal(
    (await cluster.ask('PUT', `${deployments}/none/scale`, { metadata: { name: 'web' } })).status,
    400,
  );
});

test('a whole object names itself, and is judged before anybody looks for the one that is there', async () => {
  const maps = '/api/v1/namespaces/default/configmaps';
  assert.equal((await cluster.ask('POST', maps, { metadata: { name: 'm' } })).status, 201);
  const unnamed = [400, 'the name of the object (m based on URL) was undeterminable: name must be provided'];
  assert.deepEqual(said(await cluster.ask('PUT', `${maps}/m`, { data: {} })), unnamed);
  assert.deepEqual(
    said(await cluster.ask('PATCH', `${maps}/m`, { metadata: { name: null } }, merge)),
    unnamed,
  );
  assert.equal((await cluster.ask('PUT', `${maps}/none`, { metadata: { name: 'm' } })).status, 400);
});

test('a binding binds the pod that it was made for, in the revision that it names', async () => {
  const pods = '/api/v1/namespaces/default/pods';
  const account = { metadata: { name: 'default' } };
  assert.equal(
    (await cluster.ask('POST', '/api/v1/namespaces/default/serviceaccounts', account)).status,
    201,
  );
  const made = await cluster.ask('POST', pods, { metadata: { name: 'p' }, spec: template.spec });
  assert.equal(made.status, 201, made.text);
  const { uid = '', resourceVersion = '' } = metaOf(made);
  const bind = (metadata: object): Promise<Answer> =>
    cluster.ask('POST', `${pods}/p/binding`, {
      metadata: { name: 'p', ...metadata },
      target: { kind: 'Node', name: 'n' },
    });
  const failed = (why: string): unknown[] => [
    409,
    `Operation cannot be fulfilled on pods "p": StorageError: invalid object, Code: 4, Key: /registry/pods/default/p, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: ${why}`,
  ];
  assert.deepEqual(
    said(await bind({ uid: 'other' })),
    failed(`UID in precondition: other, UID in object meta: ${uid}`),
  );
  assert.deepEqual(
    said(await bind({ resourceVersion: '1' })),
    failed(`ResourceVersion in precondition: 1, ResourceVersion in object meta: ${resourceVersion}`),
  );
  assert.equal((await bind({ uid, resourceVersion })).status, 201);
});

test('a request for a token is one of the account that it names by its uid, and the answer names it', async () => {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  const { uid = '' } = metaOf(await cluster.ask('POST', accounts, { metadata: { name: 'robot' } }));
  const token = (metadata: object): Promise<Answer> =>
    cluster.ask('POST', `${accounts}/robot/token`, { metadata, spec: {} });
  assert.deepEqual(said(await token({ uid: 'other' })), [
    409,
    `Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (other) does not match the UID of the service account (${uid})`,
  ]);
  const answer = await token({ uid });
  assert.equal(answer.status, 201, answer.text);
  assert.equal(metaOf(answer)['uid'], uid);
});

test('a request for a token names the account of its address, or nobody', async () => {
  const accounts = '/api/v1/namespaces/default/serviceaccounts';
  assert.equal((await cluster.ask('POST', accounts, { metadata: { name: 'named' } })).status, 201);
  const ask = (account: string, name: string): Promise<Answer> =>
    cluster.ask('POST', `${accounts}/${account}/token`, { metadata: { name }, spec: {} });
  assert.deepEqual(said(await ask('named', 'other')), [
    422,
    `TokenRequest.authentication.k8s.io "named" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified`,
  ]);
  assert.equal((await ask('nobody', '')).status, 404);
});
