// Claims and volumes are kept while they are used, through the real API server.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  events,
  namespaces,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  serviceaccounts,
} from '../../src/api/generated/resources.ts';
import type { ObjectMeta } from '../../src/api/generated/types/meta-v1.ts';
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

describe('ephemeral-volume-controller', () => {
  const spec = {
    accessModes: ['ReadWriteOnce'],
    storageClassName: 'by-hand',
    resources: { requests: { storage: '1Gi' } },
  };
  const metadata: Partial<ObjectMeta> = { labels: { app: 'x' }, annotations: { note: 'y' } };
  const volumeClaimTemplate = { metadata: metadata as ObjectMeta, spec };
  const podWith = (name: string, volumes: readonly string[]) => ({
    metadata: { name, namespace },
    spec: {
      nodeName: 'n1',
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'c', image: 'i' }],
      volumes: volumes.map((volume) => ({ name: volume, ephemeral: { volumeClaimTemplate } })),
    },
  });
  const prepare = async (t: TestContext) => {
    const cluster = await startCluster(t);
    await cluster.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await cluster.client
      .create(serviceaccounts, { metadata: { name: 'default', namespace } })
      .catch(() => undefined);
    return cluster;
  };

  it('makes the claim of each volume for its pod, once more when it was deleted; it goes with the pod', async (t) => {
    const { client, until } = await prepare(t);
    const pod = await client.create(pods, podWith('p', ['a', 'b']));
    const made = await until(
      persistentvolumeclaims,
      (l) => l.get('p-b', namespace) !== undefined && l.get('p-a', namespace),
      'the claims',
    );
    assert.deepEqual(made.metadata.ownerReferences, [
      {
        apiVersion: 'v1',
        kind: 'Pod',
        name: 'p',
        uid: pod.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    assert.deepEqual(made.metadata.labels, metadata.labels);
    assert.equal(made.metadata.annotations?.note, 'y');
    assert.deepEqual(made.spec?.resources, spec.resources);
    assert.equal(made.spec?.storageClassName, 'by-hand');

    const body = { metadata: { finalizers: null } };
    await client.patch(persistentvolumeclaims, { name: 'p-a', namespace }, { type: 'merge', body });
    await client.delete(persistentvolumeclaims, { name: 'p-a', namespace });
    await client
      .patch(persistentvolumeclaims, { name: 'p-a', namespace }, { type: 'merge', body })
      .catch(() => undefined);
    await until(
      persistentvolumeclaims,
      (l) => ![undefined, made.metadata.uid].includes(l.get('p-a', namespace)?.metadata.uid),
      'the claim is made again',
    );
    await client.delete(pods, { name: 'p', namespace }, { gracePeriodSeconds: 0 });
    await until(persistentvolumeclaims, (l) => l.list().length === 0, 'the claims are gone');
  });

  it("takes nobody else's claim of that name, says so, and makes its own once it is gone", async (t) => {
    const { client, until } = await prepare(t);
    const foreign = await client.create(persistentvolumeclaims, {
      metadata: { name: 'q-a', namespace },
      spec,
    });
    await client.create(pods, podWith('q', ['a']));
    const said = await until(
      events,
      (l) =>
        l
          .list()
          .find(({ reason, involvedObject }) => reason === 'FailedBinding' && involvedObject.kind === 'Pod'),
      'an event',
    );
    assert.equal(said.type, 'Warning');
    assert.equal(said.involvedObject.name, 'q');
    assert.equal(
      said.message,
      'ephemeral volume a: PVC data/q-a was not created for pod data/q (pod is not owner)',
    );
    const body = { metadata: { finalizers: null } };
    await client.delete(persistentvolumeclaims, { name: 'q-a', namespace });
    await client
      .patch(persistentvolumeclaims, { name: 'q-a', namespace }, { type: 'merge', body })
      .catch(() => undefined);
    const own = await until(
      persistentvolumeclaims,
      (l) => {
        const now = l.get('q-a', namespace);
        return now?.metadata.uid !== foreign.metadata.uid && now;
      },
      "the pod's own claim",
    );
    assert.equal(own.metadata.ownerReferences?.[0]?.name, 'q');
  });
});
