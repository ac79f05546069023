// What nobody needs any more goes by itself: bootstrap tokens that have expired, and the leases of nodes that are gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leases, nodes, secrets } from '../../src/api/generated/resources.ts';
import { startCluster } from './controllers-cluster.ts';

const inSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

test('bootstrap tokens go when they have expired, others and other secrets stay', async (t) => {
  const { client, until } = await startCluster(t);
  const create = (name: string, expiration: string | undefined, more: object = {}): Promise<unknown> =>
    client.create(secrets, {
      metadata: { name, namespace: 'kube-system' },
      type: 'bootstrap.kubernetes.io/token',
      stringData: { 'token-id': 'abcdef', ...(expiration === undefined ? {} : { expiration }) },
      ...more,
    });
  await create('bootstrap-token-past00', inSeconds(-60));
  await create('bootstrap-token-soon00', inSeconds(2));
  await create('bootstrap-token-garble', 'tomorrow');
  await create('bootstrap-token-later0', inSeconds(3_600));
  await create('bootstrap-token-always', undefined);
  await create('opaque', inSeconds(-60), { type: 'Opaque' });
  const elsewhere = { name: 'bootstrap-token-past00', namespace: 'default' };
  await create(elsewhere.name, inSeconds(-60), { metadata: elsewhere });
  const kept = ['bootstrap-token-always', 'bootstrap-token-later0', 'opaque'];
  const left = await until(
    secrets,
    (lister) => {
      const names = lister.list('kube-system').map(({ metadata }) => metadata.name);
      return names.length === kept.length && names;
    },
    'expired tokens to go',
  );
  assert.deepEqual([...left].sort(), kept);
  assert.ok(await client.get(secrets, elsewhere), 'the cleaner acts in kube-system alone');
});

test('the lease of a node goes with the node', async (t) => {
  const { client, until } = await startCluster(t);
  const namespace = 'kube-node-lease';
  for (const name of ['gone', 'stays']) {
    const node = await client.create(nodes, { metadata: { name }, spec: {} });
    const owner = { apiVersion: 'v1', kind: 'Node', name, uid: node.metadata.uid ?? '' };
    await client.create(leases, { metadata: { name, namespace, ownerReferences: [owner] }, spec: {} });
  }
  await client.delete(nodes, { name: 'gone' });
  await until(leases, (lister) => lister.get('gone', namespace) === undefined, 'the lease to go');
  assert.ok(await client.get(leases, { name: 'stays', namespace }));
});
