// Claims and volumes are kept while they are used, through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  namespaces,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  serviceaccounts,
} from '../../src/api/generated/resources.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'data';

describe('persistentvolumeclaim-protection-controller and persistentvolume-protection-controller', () => {
  it('let a claim go when no pod on a node uses it any more', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(serviceaccounts, { metadata: { name: 'default', namespace } }).catch(() => {});
    const claim = await client.create(persistentvolumeclaims, {
      metadata: { name: 'c', namespace },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    });
    assert.deepEqual(claim.metadata.finalizers, ['kubernetes.io/pvc-protection']);
    await client.create(pods, {
      metadata: { name: 'p', namespace },
      spec: {
        nodeName: 'n1',
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'c', image: 'i' }],
        volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }],
      },
    });
    await until(pods, (l) => l.get('p', namespace), 'the pod');
    await client.delete(persistentvolumeclaims, { name: 'c', namespace });
    const kept = await until(
      persistentvolumeclaims,
      (l) => l.get('c', namespace)?.metadata.deletionTimestamp !== undefined && l.get('c', namespace),
      'a claim that waits',
    );
    assert.deepEqual(kept.metadata.finalizers, ['kubernetes.io/pvc-protection']);
    await client.delete(pods, { name: 'p', namespace }, { gracePeriodSeconds: 0 });
    await until(persistentvolumeclaims, (l) => l.get('c', namespace) === undefined, 'the claim is gone');
  });

  it('let a volume go that is bound to nothing', async (t) => {
    const { client, until } = await startCluster(t);
    const spec = {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path: '/srv/x' },
    };
    await client.create(persistentvolumes, { metadata: { name: 'v' }, spec });
    await until(persistentvolumes, (l) => l.get('v') !== undefined, 'the volume');
    await client.delete(persistentvolumes, { name: 'v' });
    await until(persistentvolumes, (l) => l.get('v') === undefined, 'the volume is gone');
  });
});

describe('persistentvolume-binder-controller', () => {
  it('binds a claim to the smallest volume, and leaves the volume released after it', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const makeVolume = (name: string, storage: string): Promise<unknown> =>
      client.create(persistentvolumes, {
        metadata: { name },
        spec: {
          capacity: { storage },
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'by-hand',
          hostPath: { path: `/srv/${name}` },
        },
      });
    await client.create(persistentvolumeclaims, {
      metadata: { name: 'c', namespace },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'by-hand',
        resources: { requests: { storage: '1Gi' } },
      },
    });
    await makeVolume('large', '9Gi');
    const first = await until(
      persistentvolumeclaims,
      (l) => l.get('c', namespace)?.status?.phase === 'Bound' && l.get('c', namespace),
      'the claim is bound',
    );
    assert.equal(first.spec?.volumeName, 'large');
    assert.deepEqual(first.status?.capacity, { storage: '9Gi' });
    assert.equal(first.metadata.annotations?.['pv.kubernetes.io/bind-completed'], 'yes');
    const volume = await until(
      persistentvolumes,
      (l) => l.get('large')?.status?.phase === 'Bound' && l.get('large'),
      'the volume is bound',
    );
    assert.equal(volume.spec?.claimRef?.uid, first.metadata.uid);
    await client.delete(persistentvolumeclaims, { name: 'c', namespace });
    await until(persistentvolumes, (l) => l.get('large')?.status?.phase === 'Released', 'it is released');
  });
});
