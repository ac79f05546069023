// `node remove` through the real API server: what it refuses, and that nothing has happened by then.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { namespaces, nodes, pods, serviceaccounts } from '../../src/api/generated/resources.ts';
import { drainNode } from '../../src/cmd/cluster/drain-node.ts';
import { administrator, startTestControlPlane } from '../../src/controlplane/testing/test-control-plane.ts';

const namespace = 'here';
const node = 'linux-1';
const ownedBy = (kind: string): object => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'one', uid: 'u', controller: true }],
});

test('pods without a controller stop it before any pod is told to go, unless it is forced', async (t) => {
  const { close, controlPlane } = await startTestControlPlane();
  t.after(close);
  const client = controlPlane.clientFor(administrator);
  await client.create(nodes, { metadata: { name: node }, spec: {} });
  await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await client.create(serviceaccounts, { metadata: { name: 'default', namespace } });
  const make = async (name: string, metadata: object): Promise<void> => {
    const spec = {
      nodeName: node,
      containers: [{ name: 'c', image: 'i' }],
      volumes: [{ name: 'v', emptyDir: {} }],
    };
    await client.create(pods, { metadata: { name, namespace, ...metadata }, spec } as never);
  };
  const present = async (): Promise<string[]> =>
    (await client.list(pods, {})).items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name)
      .sort();
  // By name the first that would be evicted.
  await make('a-replica', ownedBy('ReplicaSet'));
  await make('bare', {});
  await make('daemon', ownedBy('DaemonSet'));
  await make('done', {});
  // Any tenant may.
  await make('kept', { ...ownedBy('ReplicaSet'), finalizers: ['evil.example/stay'] });
  const ended = { type: 'strategic', body: { status: { phase: 'Succeeded' } } } as const;
  await client.patch(pods, { name: 'done', namespace }, ended, { subresource: 'status' });
  const options = { client, node, timeoutMs: 10_000, detail: (): void => {} };
  await assert.rejects(drainNode({ ...options, force: false }), (error: Error & { next?: string }) => {
    assert.equal(
      error.message,
      'cannot delete Pods that declare no controller (use --force to override): here/bare',
    );
    assert.match(
      error.next!,
      /--force, which deletes all pods of linux-1 at once; or kubectl uncordon linux-1/,
    );
    return true;
  });
  assert.deepEqual(await present(), ['a-replica', 'bare', 'daemon', 'done', 'kept']);
  assert.equal((await client.get(nodes, { name: node })).spec.unschedulable, true);
  assert.equal(await drainNode({ ...options, force: true }), true);
  assert.deepEqual(await present(), ['daemon']);
});
