// What an empty cluster holds, and that a start repairs what the server keeps up to date.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { controllerRoles } from '../../src/controllers/controller-roles.ts';
import { startTestControlPlane, user } from '../../src/controlplane/testing/test-control-plane.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';

test('an empty cluster has its namespaces, roles, classes and the Service kubernetes', async () => {
  const { ask, close } = await startTestControlPlane();
  const names = async (url: string): Promise<string[]> =>
    ((await ask('GET', url)).body.items as { metadata: { name: string } }[]).map((o) => o.metadata.name);
  assert.deepEqual(await names('/api/v1/namespaces'), [
    'default',
    'kube-node-lease',
    'kube-public',
    'kube-system',
  ]);
  assert.deepEqual(await names('/apis/scheduling.k8s.io/v1/priorityclasses'), [
    'system-cluster-critical',
    'system-node-critical',
  ]);
  const own = controllerRoles({}).filter(({ namespace }) => namespace === undefined).length;
  assert.equal((await names(`${rbac}/clusterroles`)).length, 40 + own);
  assert.equal((await names(`${rbac}/clusterrolebindings`)).length, 22 + own);
  const namespace = await ask('GET', '/api/v1/namespaces/default');
  assert.deepEqual(namespace.body.status, { phase: 'Active' });
  const service = await ask('GET', '/api/v1/namespaces/default/services/kubernetes');
  assert.equal((service.body.spec as { clusterIP: string }).clusterIP, '10.96.0.1');
  const endpoints = await ask('GET', '/api/v1/namespaces/default/endpoints/kubernetes');
  assert.deepEqual(endpoints.body.subsets, [
    { addresses: [{ ip: '192.0.2.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
  ]);
  const admin = await ask('GET', `${rbac}/clusterroles/admin`);
  assert.ok((admin.body.rules as unknown[]).length > 10);
  await close();
});

test('the next start brings back lost rules and leaves additions of others', async () => {
  const first = await startTestControlPlane();
  const url = `${rbac}/clusterroles/system:kube-dns`;
  const extra = { apiGroups: ['x'], resources: ['y'], verbs: ['get'] };
  const patched = await first.ask(
    'PATCH',
    url,
    { rules: [extra] },
    { contentType: 'application/merge-patch+json' },
  );
  assert.equal(patched.status, 200, patched.text);
  const kept = `${rbac}/clusterroles/system:heapster`;
  await first.ask(
    'PATCH',
    kept,
    { rules: [], metadata: { annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' } } },
    { contentType: 'application/merge-patch+json' },
  );
  await first.ask('DELETE', `${rbac}/clusterrolebindings/system:discovery`);
  const next = await startTestControlPlane({
    storage: first.storage,
    pki: first.pki,
    advertiseAddress: '192.0.2.2',
  });
  const { created, repaired } = next.controlPlane.bootstrapped;
  // The role, and the Endpoints and EndpointSlice that name the new address.
  assert.deepEqual([created, repaired], [1, 3]);
  const rules = (await next.ask('GET', url)).body.rules as unknown[];
  assert.deepEqual(rules[0], extra);
  assert.ok(rules.length > 1);
  assert.deepEqual((await next.ask('GET', kept)).body.rules ?? [], []);
  const endpoints = await next.ask('GET', '/api/v1/namespaces/default/endpoints/kubernetes');
  assert.match(endpoints.text, /192\.0\.2\.2/);
  await next.close();
});

test('each controller has the role that its declaration says, by the name that upstream gives it', async () => {
  const { ask, close } = await startTestControlPlane();
  for (const { serviceAccount, namespace, rules } of controllerRoles({})) {
    const name = `system:controller:${serviceAccount}`;
    const at = namespace === undefined ? `${rbac}/cluster` : `${rbac}/namespaces/${namespace}/`;
    const role = await ask('GET', `${at}roles/${name}`);
    assert.deepEqual(role.body.rules, rules, name);
    assert.deepEqual((role.body.metadata as { labels: unknown }).labels, {
      'kubernetes.io/bootstrapping': 'rbac-defaults',
    });
    const binding = await ask('GET', `${at}rolebindings/${name}`);
    assert.deepEqual(binding.body.subjects, [
      { kind: 'ServiceAccount', name: serviceAccount, namespace: 'kube-system' },
    ]);
    assert.deepEqual(binding.body.roleRef, {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: namespace === undefined ? 'ClusterRole' : 'Role',
      name,
    });
  }
  await close();
});

test('a controller may do what its role says, and no more', async () => {
  const { ask, close } = await startTestControlPlane();
  const controller = user(
    'system:serviceaccount:kube-system:deployment-controller',
    'system:serviceaccounts',
    'system:serviceaccounts:kube-system',
  );
  const list = await ask('GET', '/apis/apps/v1/deployments', undefined, { user: controller });
  assert.equal(list.status, 200, list.text);
  assert.equal((await ask('GET', '/api/v1/secrets', undefined, { user: controller })).status, 403);
  await close();
});
