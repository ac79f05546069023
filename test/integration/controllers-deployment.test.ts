// Deployments, replica sets and pods through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deployments, events, namespaces, pods, replicasets } from '../../src/api/generated/resources.ts';
import type { Deployment } from '../../src/api/generated/types/apps-v1.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { retryOnConflict } from '../../src/client/retry-on-conflict.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const namespace = 'shop';
const web = (replicas: number, image = 'web:1'): Deployment =>
  ({
    metadata: { name: 'web', namespace },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image }] },
      },
    },
  }) as unknown as Deployment;

/** What a kubelet would do. */
async function makeReady(cluster: ControllersCluster, pod: Pod): Promise<void> {
  const time = new Date().toISOString().replace(/\.\d+Z/, 'Z');
  const status = {
    phase: 'Running',
    podIP: '10.244.0.9',
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: time }],
  };
  await retryOnConflict(async () => {
    const fresh = await cluster.client.get(pods, { name: pod.metadata.name, namespace });
    await cluster.client.update(pods, { ...fresh, status }, { subresource: 'status' });
  });
}

/** Changes the deployment as a user would. */
async function edit(cluster: ControllersCluster, change: (spec: Deployment['spec']) => void): Promise<void> {
  await retryOnConflict(async () => {
    const d = await cluster.client.get(deployments, { name: 'web', namespace });
    change(d.spec);
    await cluster.client.update(deployments, d);
  });
}

describe('deployment-controller and replicaset-controller', () => {
  it('roll a deployment out, replace its pods, roll it back and scale it to nothing', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(deployments, web(3));
    const active = (lister: { list(ns?: string): readonly Pod[] }, image: string): Pod[] | undefined => {
      const found = lister
        .list(namespace)
        .filter(
          (pod) => pod.spec.containers[0]?.image === image && pod.metadata.deletionTimestamp === undefined,
        );
      return found.length === 3 ? found : undefined;
    };
    const first = await until(pods, (lister) => active(lister, 'web:1'), 'three pods');
    assert.match(first[0]!.metadata.name, /^web-[bcdfghjklmnpqrstvwxz2456789]+-[a-z0-9]{5}$/);
    for (const pod of first) await makeReady(cluster, pod);
    const complete = (revision: string) => (lister: { list(ns?: string): readonly Deployment[] }) => {
      const [d] = lister.list(namespace);
      return (
        d?.status?.availableReplicas === 3 &&
        d.status.updatedReplicas === 3 &&
        d.status.replicas === 3 &&
        d.metadata.annotations?.['deployment.kubernetes.io/revision'] === revision &&
        d.status.conditions?.find((c) => c.type === 'Progressing')?.reason === 'NewReplicaSetAvailable' &&
        d
      );
    };
    const d = await until(deployments, complete('1'), 'a complete deployment of revision 1');
    assert.equal(d.status?.conditions?.find((c) => c.type === 'Available')?.status, 'True');

    // Pods that come up are made ready, as nodes would.
    const ready = (async () => {
      for (let i = 0; i < 3; i++) {
        const pod = await until(
          pods,
          (lister) =>
            lister
              .list(namespace)
              .find((p) => p.spec.containers[0]?.image === 'web:2' && p.status?.phase !== 'Running'),
          'a pod of the second revision',
        );
        await makeReady(cluster, pod);
        await until(pods, (l) => l.get(pod.metadata.name, namespace)?.status?.phase === 'Running', 'it runs');
      }
    })();
    await edit(cluster, (spec) => {
      spec.template.spec!.containers[0]!.image = 'web:2';
    });
    await ready;
    await until(deployments, complete('2'), 'a complete deployment of revision 2');
    const sets = await until(
      replicasets,
      (l) => l.list(namespace).length === 2 && l.list(namespace),
      'two sets',
    );
    assert.deepEqual(sets.map((rs) => rs.spec?.replicas).sort(), [0, 3]);

    await edit(cluster, (spec) => {
      spec.replicas = 0;
    });
    await until(
      pods,
      (l) => l.list(namespace).every((pod) => pod.metadata.deletionTimestamp !== undefined),
      'no pods',
    );
    const reasons = await until(
      events,
      (l) => {
        const messages = l.list(namespace).map((e) => `${e.reason} ${e.message}`);
        return messages.some((m) => /Scaled down replica set web-\w+ from 3 to 0/.test(m)) && messages;
      },
      'the events',
    );
    assert.ok(reasons.some((m) => /ScalingReplicaSet Scaled up replica set web-\w+ from 0 to 3/.test(m)));
    assert.ok(reasons.some((m) => /SuccessfulCreate Created pod: web-\w+-\w+/.test(m)));
  });
});
