// ReplicationControllers through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { namespaces, pods, replicationcontrollers } from '../../src/api/generated/resources.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'old';

describe('replicationcontroller-controller', () => {
  it('keeps, adopts and releases pods', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await client.create(replicationcontrollers, {
      metadata: { name: 'rc', namespace },
      spec: { replicas: 2, template: { metadata: { labels: { app: 'old' } }, spec } as never },
    });
    const two = await until(
      pods,
      (l) =>
        l.list(namespace).filter((p) => p.metadata.ownerReferences?.[0]?.kind === 'ReplicationController')
          .length === 2 && l.list(namespace),
      'two pods',
    );
    const [first] = two;
    assert.equal(first?.metadata.ownerReferences?.[0]?.apiVersion, 'v1');
    await client.patch(
      pods,
      { name: first?.metadata.name ?? '', namespace },
      { type: 'merge', body: { metadata: { labels: { app: 'free' } } } },
    );
    await until(
      pods,
      (l) =>
        l.list(namespace).length === 3 &&
        l.get(first?.metadata.name ?? '', namespace)?.metadata.ownerReferences === undefined,
      'the pod is released and replaced',
    );
    await until(
      replicationcontrollers,
      (l) => l.get('rc', namespace)?.status?.replicas === 2,
      'the status counts two',
    );
    await client.patch(
      replicationcontrollers,
      { name: 'rc', namespace },
      { type: 'merge', body: { spec: { replicas: 0 } } },
      { subresource: 'scale' },
    );
    await until(
      replicationcontrollers,
      (l) => l.get('rc', namespace)?.status?.replicas === 0,
      'the status counts none',
    );
  });
});
