// Garbage collection, namespaces, service accounts and endpoints, through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  configmaps,
  deployments,
  endpoints,
  endpointslices,
  namespaces,
  pods,
  replicasets,
  serviceaccounts,
  services,
} from '../../src/api/generated/resources.ts';
import type { Deployment } from '../../src/api/generated/types/apps-v1.ts';
import type { ConfigMap, Pod, Service } from '../../src/api/generated/types/core-v1.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const namespace = 'team';
const web = {
  metadata: { name: 'web', namespace },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [{ name: 'web', image: 'web:1', ports: [{ name: 'http', containerPort: 8080 }] }],
      },
    },
  },
} as unknown as Deployment;

async function withDeployment(cluster: ControllersCluster): Promise<readonly Pod[]> {
  await cluster.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await cluster.client.create(deployments, web);
  return cluster.until(pods, (l) => l.list(namespace).length === 2 && l.list(namespace), 'two pods');
}
const isEmpty = (l: { list(ns?: string): readonly unknown[] }): boolean => l.list(namespace).length === 0;

describe('garbage-collector-controller', () => {
  it('deletes what a deleted deployment owned', async (t) => {
    const cluster = await startCluster(t);
    await withDeployment(cluster);
    await cluster.client.delete(deployments, { name: 'web', namespace });
    await cluster.until(replicasets, isEmpty, 'no replica set');
    await cluster.until(pods, isEmpty, 'no pods');
  });

  it('deletes in the foreground: the owner goes last', async (t) => {
    const cluster = await startCluster(t);
    await withDeployment(cluster);
    await cluster.client.delete(deployments, { name: 'web', namespace }, { propagationPolicy: 'Foreground' });
    await cluster.until(deployments, isEmpty, 'no deployment');
    assert.equal((await cluster.client.list(replicasets, { namespace })).items.length, 0);
    assert.equal((await cluster.client.list(pods, { namespace })).items.length, 0);
  });

  it('leaves orphans alone, and frees them of their owner', async (t) => {
    const cluster = await startCluster(t, { disabled: ['deployment-controller', 'replicaset-controller'] });
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const owner = await client.create(configmaps, { metadata: { name: 'owner', namespace } });
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid ?? '' },
    ];
    await client.create(configmaps, { metadata: { name: 'child', namespace, ownerReferences } });
    await client.delete(configmaps, { name: 'owner', namespace }, { propagationPolicy: 'Orphan' });
    await until(configmaps, (l) => l.get('owner', namespace) === undefined, 'no owner');
    const child = await until(
      configmaps,
      (l) =>
        (l.get('child', namespace)?.metadata.ownerReferences ?? []).length === 0 && l.get('child', namespace),
      'a free child',
    );
    assert.equal(child.metadata.deletionTimestamp, undefined);
  });

  it('deletes an object whose owner never was', async (t) => {
    const { client, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: 'no-such-uid' }];
    await client.create(configmaps, { metadata: { name: 'child', namespace, ownerReferences } });
    await until(configmaps, (l) => l.get('child', namespace) === undefined, 'no child');
  });
});

describe('namespace-controller, serviceaccount-controller and root-ca-certificate-publisher-controller', () => {
  it('furnish a namespace, and empty it when it is deleted', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await withDeployment(cluster);
    await until(serviceaccounts, (l) => l.get('default', namespace), 'the default service account');
    const ca: ConfigMap = await until(configmaps, (l) => l.get('kube-root-ca.crt', namespace), 'the root CA');
    assert.deepEqual(ca.data, { 'ca.crt': 'PEM' });
    await client.delete(configmaps, { name: 'kube-root-ca.crt', namespace });
    await until(
      configmaps,
      (l) => l.get('kube-root-ca.crt', namespace)?.metadata.uid !== ca.metadata.uid,
      'a new one',
    );
    await client.delete(namespaces, { name: namespace });
    await until(namespaces, (l) => l.get(namespace) === undefined, 'no namespace');
    for (const resource of [pods, deployments, replicasets, configmaps, serviceaccounts])
      assert.equal((await client.list<unknown>(resource as never, { namespace })).items.length, 0);
  });
});

describe('endpoints-controller and endpointslice-controller', () => {
  it('follow the pods behind a service', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    const [first] = await withDeployment(cluster);
    await client.create(services, {
      metadata: { name: 'web', namespace },
      spec: {
        clusterIP: 'None',
        selector: { app: 'web' },
        ports: [{ name: 'http', port: 80, targetPort: 'http' }],
      },
    } as unknown as Service);
    await until(endpointslices, (l) => l.list(namespace).length === 1, 'a slice that says: none');
    const { name } = first!.metadata;
    await client.patch(
      pods,
      { name, namespace },
      {
        type: 'merge',
        body: {
          status: {
            phase: 'Running',
            podIP: '10.244.1.7',
            podIPs: [{ ip: '10.244.1.7' }],
            conditions: [{ type: 'Ready', status: 'True' }],
          },
        },
      },
      { subresource: 'status' },
    );
    const slice = await until(
      endpointslices,
      (l) => (l.list(namespace)[0]?.endpoints ?? []).length === 1 && l.list(namespace)[0],
      'the endpoint',
    );
    assert.deepEqual(slice.endpoints?.[0]?.conditions, { ready: true, serving: true, terminating: false });
    assert.deepEqual(slice.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }]);
    assert.equal(slice.metadata.labels?.['kubernetes.io/service-name'], 'web');
    const old = await until(endpoints, (l) => l.get('web', namespace)?.subsets?.[0], 'the endpoints');
    assert.equal(old.addresses?.[0]?.ip, '10.244.1.7');
    assert.deepEqual(old.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }]);
    // As after a decision on what was read before its own last write had come: nothing but Endpoints changes afterwards.
    await client.patch(endpoints, { name: 'web', namespace }, { type: 'merge', body: { subsets: null } });
    const again = await until(endpoints, (l) => l.get('web', namespace)?.subsets?.[0], 'the endpoints again');
    assert.deepEqual(again, old);
    await client.delete(services, { name: 'web', namespace });
    await until(endpointslices, isEmpty, 'no slice');
    await until(endpoints, isEmpty, 'no endpoints');
  });
});
