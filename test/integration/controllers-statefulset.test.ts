// StatefulSets and aggregated roles through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  clusterroles,
  controllerrevisions,
  events,
  namespaces,
  persistentvolumeclaims,
  pods,
  statefulsets,
} from '../../src/api/generated/resources.ts';
import type { StatefulSet } from '../../src/api/generated/types/apps-v1.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { retryOnConflict } from '../../src/client/retry-on-conflict.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const namespace = 'data';
const db = {
  metadata: { name: 'db', namespace },
  spec: {
    replicas: 2,
    serviceName: 'db',
    selector: { matchLabels: { app: 'db' } },
    template: {
      metadata: { labels: { app: 'db' } },
      spec: { terminationGracePeriodSeconds: 0, containers: [{ name: 'db', image: 'db:1' }] },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'store' },
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      },
    ],
  },
} as unknown as StatefulSet;

async function makeReady({ client }: ControllersCluster, pod: Pod): Promise<void> {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await client.patch(
    pods,
    { name: pod.metadata.name, namespace },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  );
}
const isNew = (pod: Pod): boolean => pod.status?.phase !== 'Running';

describe('statefulset-controller', () => {
  it('a container mounts a claim of volumeClaimTemplates, and its pods have that volume', async (t) => {
    const { client, until, server } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const set = structuredClone(db);
    const [container] = set.spec!.template.spec!.containers;
    container!.volumeMounts = [{ name: 'store', mountPath: '/data' }];
    await client.create(statefulsets, set);
    const pod = await until(pods, (l) => l.get('db-0', namespace), 'the first pod');
    const volume = pod.spec.volumes?.find(({ name }) => name === 'store');
    assert.equal(volume?.persistentVolumeClaim?.claimName, 'store-db-0');
    assert.ok(pod.spec.containers[0]?.volumeMounts?.some(({ name }) => name === 'store'));
    container!.volumeMounts = [{ name: 'stories', mountPath: '/data' }];
    const wrong = await server.ask('POST', `/apis/apps/v1/namespaces/${namespace}/statefulsets`, {
      ...set,
      metadata: { name: 'wrong' },
    });
    assert.match(wrong.message, /volumeMounts\[0\]\.name: Not found: "stories"$/);
  });

  it('makes pods in order with claims of their own, and updates them from the top', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(statefulsets, db);
    const first = await until(pods, (l) => l.list(namespace).find(isNew), 'the first pod');
    assert.deepEqual(
      [first.metadata.name, first.spec.hostname, first.spec.subdomain],
      ['db-0', 'db-0', 'db'],
    );
    assert.equal((await client.list(pods, { namespace })).items.length, 1);
    await makeReady(cluster, first);
    await makeReady(cluster, await until(pods, (l) => l.get('db-1', namespace), 'the second pod'));
    await until(statefulsets, (l) => l.get('db', namespace)?.status?.readyReplicas === 2, 'both ready');
    const claims = await until(
      persistentvolumeclaims,
      (l) => l.list(namespace).length === 2 && l.list(namespace),
      'two claims',
    );
    assert.deepEqual(claims.map(({ metadata }) => metadata.name).sort(), ['store-db-0', 'store-db-1']);

    await retryOnConflict(async () => {
      const set = await client.get(statefulsets, { name: 'db', namespace });
      set.spec!.template.spec!.containers[0]!.image = 'db:2';
      await client.update(statefulsets, set);
    });
    const order: string[] = [];
    for (let i = 0; i < 2; i++) {
      const pod = await until(
        pods,
        (l) => l.list(namespace).find((p) => p.spec.containers[0]?.image === 'db:2' && isNew(p)),
        'an updated pod',
      );
      order.push(pod.metadata.name);
      await makeReady(cluster, pod);
      await until(pods, (l) => l.get(pod.metadata.name, namespace)?.status?.phase === 'Running', 'it runs');
    }
    assert.deepEqual(order, ['db-1', 'db-0']);
    await until(
      statefulsets,
      (l) => {
        const { status } = l.get('db', namespace) ?? {};
        return status?.updatedReplicas === 2 && status.currentRevision === status.updateRevision;
      },
      'the end of the update',
    );
  });

  it('labels pods with the name of their revision, which holds the annotations of the set', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const annotations = { 'kubernetes.io/change-cause': 'first' };
    await client.create(statefulsets, { ...db, metadata: { ...db.metadata, annotations } });
    const pod = await until(pods, (l) => l.get('db-0', namespace), 'the first pod');
    const [revision] = (await client.list(controllerrevisions, { namespace })).items;
    assert.equal(pod.metadata.labels?.['controller-revision-hash'], revision?.metadata.name);
    assert.deepEqual(revision?.metadata.annotations, annotations);
    assert.equal(
      `db-${revision?.metadata.labels?.['controller.kubernetes.io/hash']}`,
      revision?.metadata.name,
    );
    await until(
      statefulsets,
      (l) => l.get('db', namespace)?.status?.currentRevision === revision?.metadata.name,
      'the status names it',
    );
  });

  it('makes a pod below the partition anew as it was before the update', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const set = structuredClone(db);
    set.spec!.updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 1 } };
    await client.create(statefulsets, set);
    for (const name of ['db-0', 'db-1'])
      await makeReady(cluster, await until(pods, (l) => l.get(name, namespace), name));
    await until(statefulsets, (l) => l.get('db', namespace)?.status?.readyReplicas === 2, 'both ready');
    const body = { spec: { template: { spec: { containers: [{ name: 'db', image: 'db:2' }] } } } };
    await client.patch(statefulsets, { name: 'db', namespace }, { type: 'strategic', body });
    const isOf = (pod: Pod | undefined, image: string): Pod | undefined =>
      pod !== undefined && isNew(pod) && pod.spec.containers[0]?.image === image ? pod : undefined;
    await makeReady(
      cluster,
      await until(pods, (l) => isOf(l.get('db-1', namespace), 'db:2'), 'the updated pod'),
    );
    await client.delete(pods, { name: 'db-0', namespace });
    const again = await until(pods, (l) => isOf(l.get('db-0', namespace), 'db:1'), 'the old image');
    const { status } = await client.get(statefulsets, { name: 'db', namespace });
    assert.equal(again.metadata.labels?.['controller-revision-hash'], status?.currentRevision);
    assert.notEqual(status?.currentRevision, status?.updateRevision);
  });
});

type Retention = { whenDeleted?: 'Delete' | 'Retain'; whenScaled?: 'Delete' | 'Retain' };

/** A set of so many pods, all at once and ready. */
async function readySet(cluster: ControllersCluster, replicas: number, more: object): Promise<void> {
  const { client, until } = cluster;
  await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  const spec = { ...db.spec, replicas, podManagementPolicy: 'Parallel', ...more };
  await client.create(statefulsets, { ...db, spec } as StatefulSet);
  for (let i = 0; i < replicas; i++)
    await makeReady(cluster, await until(pods, (l) => l.get(`db-${i}`, namespace), `db-${i}`));
  await until(statefulsets, (l) => l.get('db', namespace)?.status?.readyReplicas === replicas, 'all ready');
}
const retention = (persistentVolumeClaimRetentionPolicy: Retention): object => ({
  persistentVolumeClaimRetentionPolicy,
});
const claimsLeft = (
  { until }: ControllersCluster,
  names: readonly string[],
  what: string,
): Promise<unknown> =>
  until(
    persistentvolumeclaims,
    (l) =>
      l
        .list(namespace)
        .map(({ metadata }) => metadata.name)
        .sort()
        .join() === names.join(),
    what,
  );

describe('statefulset-controller, claims and updates', () => {
  it('claims go with the set by whenDeleted, and with the pod that is scaled away by whenScaled', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await readySet(cluster, 3, retention({ whenDeleted: 'Delete', whenScaled: 'Delete' }));
    const owned = (name: string, kind: string): Promise<unknown> =>
      until(
        persistentvolumeclaims,
        (l) => l.get(name, namespace)?.metadata.ownerReferences?.some((reference) => reference.kind === kind),
        `${name} is of a ${kind}`,
      );
    for (const i of [0, 1, 2]) await owned(`store-db-${i}`, 'StatefulSet');
    const key = { name: 'db', namespace };
    await client.patch(statefulsets, key, { type: 'merge', body: { spec: { replicas: 1 } } });
    await claimsLeft(cluster, ['store-db-0'], 'claims of two pods went with them');
    await client.patch(statefulsets, key, { type: 'merge', body: { spec: { replicas: 2 } } });
    await until(pods, (l) => l.get('db-1', namespace), 'the pod again');
    await owned('store-db-1', 'StatefulSet');
    await client.delete(statefulsets, key);
    await claimsLeft(cluster, [], 'all claims went with the set');
  });

  it('a pod waits until the claim of the one before is gone, the others do not', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await readySet(cluster, 1, retention({ whenScaled: 'Delete' }));
    const former = { apiVersion: 'v1', kind: 'Pod', name: 'db-1', uid: 'former', controller: true };
    const claim = {
      metadata: {
        name: 'store-db-1',
        namespace,
        finalizers: ['example.com/busy'],
        ownerReferences: [former],
      },
      spec: db.spec.volumeClaimTemplates?.[0]?.spec,
    };
    await client.create(persistentvolumeclaims, claim as never);
    await until(persistentvolumeclaims, (l) => l.get('store-db-1', namespace), 'the claim of the pod before');
    const key = { name: 'db', namespace };
    await client.patch(statefulsets, key, { type: 'merge', body: { spec: { replicas: 3 } } });
    await until(pods, (l) => l.get('db-2', namespace), 'the third pod');
    assert.equal((await client.list(pods, { namespace })).items.length, 2);
    await until(
      persistentvolumeclaims,
      (l) => l.get('store-db-1', namespace)?.metadata.deletionTimestamp !== undefined,
      'the garbage collector takes it away',
    );
    const body = { metadata: { finalizers: null } };
    await client.patch(persistentvolumeclaims, { name: 'store-db-1', namespace }, { type: 'merge', body });
    await until(pods, (l) => l.get('db-1', namespace), 'the second pod');
  });

  it('claims stay by default, and lose their owner when the policy changes', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await readySet(cluster, 2, retention({ whenDeleted: 'Delete' }));
    const ownersOf = (count: number): Promise<unknown> =>
      until(
        persistentvolumeclaims,
        (l) =>
          l.list(namespace).length === 2 &&
          l.list(namespace).every(({ metadata }) => (metadata.ownerReferences ?? []).length === count),
        `${count} owners each`,
      );
    await ownersOf(1);
    const key = { name: 'db', namespace };
    const body = { spec: retention({ whenDeleted: 'Retain' }) };
    await client.patch(statefulsets, key, { type: 'merge', body });
    await ownersOf(0);
    await client.delete(statefulsets, key);
    await until(pods, (l) => l.list(namespace).length === 0, 'the pods are gone');
    await claimsLeft(cluster, ['store-db-0', 'store-db-1'], 'the claims stay');
  });

  it('updates as many pods at once as may be unavailable', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } };
    await readySet(cluster, 4, { updateStrategy });
    const body = { spec: { template: { spec: { containers: [{ name: 'db', image: 'db:2' }] } } } };
    await client.patch(statefulsets, { name: 'db', namespace }, { type: 'strategic', body });
    const fresh = await until(
      pods,
      (l) => {
        const made = l.list(namespace).filter((p) => p.spec.containers[0]?.image === 'db:2' && isNew(p));
        return made.length === 2 && made;
      },
      'two updated pods',
    );
    assert.deepEqual(fresh.map(({ metadata }) => metadata.name).sort(), ['db-2', 'db-3']);
    const others = (await client.list(pods, { namespace })).items.filter((p) => !isNew(p));
    assert.deepEqual(
      others.map(({ spec }) => spec.containers[0]?.image),
      ['db:1', 'db:1'],
    );
  });

  it('gives back to a pod the labels that name it, and says so', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await readySet(cluster, 1, {});
    const label = 'apps.kubernetes.io/pod-index';
    const body = { metadata: { labels: { [label]: null } } };
    await client.patch(pods, { name: 'db-0', namespace }, { type: 'merge', body });
    await until(pods, (l) => l.get('db-0', namespace)?.metadata.labels?.[label] === '0', 'the label again');
    await until(
      events,
      (l) =>
        l
          .list(namespace)
          .find(
            ({ reason, message }) =>
              reason === 'SuccessfulUpdate' && message === 'update Pod db-0 in StatefulSet db successful',
          ),
      'the event',
    );
  });
});

describe('clusterrole-aggregation-controller', () => {
  it('fills a role from the roles that are labelled for it', async (t) => {
    const { client, until } = await startCluster(t);
    const rules = [{ apiGroups: ['x.io'], resources: ['things'], verbs: ['get'] }];
    await client.create(clusterroles, {
      metadata: { name: 'view-things', labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
      rules,
    });
    await until(
      clusterroles,
      (l) => l.get('view')?.rules?.some((rule) => rule.apiGroups?.includes('x.io')),
      'the rule in view',
    );
  });
});
