// RBAC on the real server: who may do what, who may grant what, and what the refusals say.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';

const plane = await startTestControlPlane();
after(() => plane.close());
const { ask } = plane;
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const jane = user('jane', 'devs');

const role = (name: string, rules: unknown[]): unknown => ({ metadata: { name }, rules });
const bind = (name: string, roleName: string, subject: object): unknown => ({
  metadata: { name },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: roleName },
  subjects: [subject],
});
const janeSubject = { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' };

test('a user without a binding is told what is missing', async () => {
  const answer = await ask('GET', '/api/v1/namespaces/default/pods', undefined, { user: jane });
  assert.equal(answer.status, 403);
  assert.equal(
    answer.message,
    'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
  );
  const cluster = await ask('GET', '/api/v1/nodes/x', undefined, { user: jane });
  assert.equal(
    cluster.message,
    'nodes "x" is forbidden: User "jane" cannot get resource "nodes" in API group "" at the cluster scope',
  );
});

test('a binding works at once in its namespace, and ends at once', async () => {
  const bound = await ask(
    'POST',
    `${rbac}/namespaces/default/rolebindings`,
    bind('jane-view', 'view', janeSubject),
  );
  assert.equal(bound.status, 201, bound.text);
  const list = (namespace: string): Promise<{ status: number }> =>
    ask('GET', `/api/v1/namespaces/${namespace}/pods`, undefined, { user: jane });
  assert.equal((await list('default')).status, 200);
  assert.equal((await list('kube-system')).status, 403);
  const secrets = await ask('GET', '/api/v1/namespaces/default/secrets', undefined, { user: jane });
  assert.equal(secrets.status, 403);
  await ask('DELETE', `${rbac}/namespaces/default/rolebindings/jane-view`);
  assert.equal((await list('default')).status, 403);
});

test('nobody grants what they do not hold', async () => {
  await ask(
    'POST',
    `${rbac}/clusterroles`,
    role('granter', [
      {
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['roles', 'rolebindings'],
        verbs: ['create', 'update', 'patch', 'get'],
      },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] },
    ]),
  );
  await ask('POST', `${rbac}/namespaces/default/rolebindings`, bind('jane-grants', 'granter', janeSubject));
  const roles = `${rbac}/namespaces/default/roles`;
  const refused = await ask(
    'POST',
    roles,
    role('too-much', [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'delete', 'watch'] }]),
    { user: jane },
  );
  assert.equal(refused.status, 403);
  assert.equal(
    refused.message,
    'roles.rbac.authorization.k8s.io "too-much" is forbidden: user "jane" (groups=["devs" "system:authenticated"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete" "watch"]}',
  );
  const fine = await ask(
    'POST',
    roles,
    role('enough', [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]),
    { user: jane },
  );
  assert.equal(fine.status, 201, fine.text);
  const grown = await ask(
    'PATCH',
    `${roles}/enough`,
    { rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] },
    { user: jane, contentType: 'application/merge-patch+json' },
  );
  assert.equal(grown.status, 403, grown.text);
  const byBinding = await ask(
    'POST',
    `${rbac}/namespaces/default/rolebindings`,
    bind('all', 'cluster-admin', janeSubject),
    { user: jane },
  );
  assert.equal(byBinding.status, 403);
  assert.match(byBinding.message, /is attempting to grant RBAC permissions not currently held/);
});

test('a node reads its own and no other', async () => {
  const node = user('system:node:n1', 'system:nodes');
  for (const name of ['n1', 'n2']) {
    const made = await ask('POST', '/api/v1/nodes', { metadata: { name } });
    assert.equal(made.status, 201, made.text);
  }
  const get = async (url: string): Promise<number> =>
    (await ask('GET', url, undefined, { user: node })).status;
  assert.equal(await get('/api/v1/nodes/n1'), 200);
  assert.equal(await get('/api/v1/nodes/n2'), 403);
  assert.equal(await get('/api/v1/pods'), 403);
  assert.equal(await get('/api/v1/pods?fieldSelector=spec.nodeName%3Dn1'), 200);
  assert.equal(await get('/api/v1/pods?fieldSelector=spec.nodeName%3Dn2'), 403);
  assert.equal(await get('/api/v1/pods?fieldSelector=spec.nodeName!%3Dn1'), 403);
  assert.equal(await get('/api/v1/secrets'), 403);
  assert.equal(await get('/api/v1/services'), 200);
  const patch = (name: string, body: unknown): ReturnType<typeof ask> =>
    ask('PATCH', `/api/v1/nodes/${name}`, body, {
      user: node,
      contentType: 'application/merge-patch+json',
    });
  assert.equal((await patch('n1', { metadata: { labels: { 'kubernetes.io/os': 'linux' } } })).status, 200);
  const label = await patch('n1', { metadata: { labels: { 'node-restriction.kubernetes.io/x': 'y' } } });
  assert.equal(
    label.message,
    'nodes "n1" is forbidden: is not allowed to modify labels: node-restriction.kubernetes.io/x',
  );
  const other = await patch('n2', { metadata: { labels: { a: 'b' } } });
  assert.equal(other.message, 'nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"');
});

test('access reviews answer for others', async () => {
  const review = await ask('POST', '/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: {
      user: 'jane',
      resourceAttributes: { verb: 'get', resource: 'pods', namespace: 'default', name: 'x' },
    },
  });
  assert.deepEqual(review.body.status, {
    allowed: true,
    reason: 'RBAC: allowed by RoleBinding "jane-grants/default" of ClusterRole "granter" to User "jane"',
  });
  const self = await ask(
    'POST',
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    { spec: { resourceAttributes: { verb: 'delete', resource: 'nodes' } } },
    { user: jane },
  );
  assert.deepEqual(self.body.status, { allowed: false });
});

test('without credentials only health and version are answered', async () => {
  const anonymous = { anonymous: true } as const;
  for (const path of ['/livez', '/readyz', '/healthz', '/version']) {
    assert.equal((await ask('GET', path, undefined, anonymous)).status, 200, path);
  }
  for (const path of [
    '/',
    '/api',
    '/apis',
    '/api/v1/pods',
    '/metrics',
    '/openapi/v2',
    '/openapi/v3',
    '/openid/v1/jwks',
    '/.well-known/openid-configuration',
    '/healthzx',
    '//api',
  ]) {
    assert.equal((await ask('GET', path, undefined, anonymous)).status, 401, path);
  }
  for (const path of ['/livez/../api/v1/secrets', '/version/../api', '/version/%2e%2e/api']) {
    assert.equal((await ask('GET', path, undefined, anonymous)).status, 400, path);
  }
  // As upstream: the single checks are for monitors, which say who they are.
  assert.equal((await ask('GET', '/livez/ping', undefined, anonymous)).status, 403);
  assert.equal((await ask('POST', '/api/v1/namespaces', {}, anonymous)).status, 401);
});
