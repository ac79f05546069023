// StatefulSets and aggregated roles through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  clusterroles,
  controllerrevisions,
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
