// A pod and its claims: it waits for them, and they for it, through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  events,
  nodes,
  persistentvolumeclaims,
  persistentvolumes,
  pods,
  storageclasses,
} from '../../src/api/generated/resources.ts';
import { startSchedulerCluster } from './scheduler-cluster.ts';

const namespace = 'data';
const hostname = 'kubernetes.io/hostname';

describe('VolumeBinding', () => {
  it("waits for a claim that must be bound first, and binds others on the pod's node", async (t) => {
    const { client, until } = await startSchedulerCluster(t, { namespace });
    for (const name of ['a', 'b']) {
      await client.create(nodes, { metadata: { name, labels: { [hostname]: name } }, spec: {} });
      const status = {
        allocatable: { cpu: '4', memory: '8Gi', pods: '10' },
        conditions: [{ type: 'Ready', status: 'True' }],
      };
      await client.patch(nodes, { name }, { type: 'merge', body: { status } }, { subresource: 'status' });
      await client.patch(nodes, { name }, { type: 'merge', body: { spec: { taints: null } } });
    }
    await client.create(storageclasses, {
      metadata: { name: 'late' },
      provisioner: 'kubernetes.io/no-provisioner',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    const makeClaim = (name: string, storageClassName: string): Promise<unknown> =>
      client.create(persistentvolumeclaims, {
        metadata: { name, namespace },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName,
          resources: { requests: { storage: '1Gi' } },
        },
      });
    const makePod = (name: string, claimName: string): Promise<unknown> =>
      client.create(pods, {
        metadata: { name, namespace },
        spec: {
          containers: [{ name: 'c', image: 'i' }],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }],
        },
      });
    const makeVolume = (name: string, storageClassName: string, node: string): Promise<unknown> =>
      client.create(persistentvolumes, {
        metadata: { name },
        spec: {
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          storageClassName,
          local: { path: '/srv/x' },
          nodeAffinity: {
            required: {
              nodeSelectorTerms: [{ matchExpressions: [{ key: hostname, operator: 'In', values: [node] }] }],
            },
          },
        },
      });
    await makeClaim('now', 'by-hand');
    await makePod('first', 'now');
    const refused = await until(
      events,
      (l) => l.list(namespace).find((event) => event.reason === 'FailedScheduling'),
      'the refusal',
    );
    assert.match(refused.message ?? '', /: pod has unbound immediate PersistentVolumeClaims\./);
    const nodeOf = (name: string): Promise<string> =>
      until(pods, (l) => l.get(name, namespace)?.spec.nodeName, `a node for ${name}`);
    await makeVolume('v1', 'by-hand', 'b');
    assert.equal(await nodeOf('first'), 'b');

    await makeClaim('later', 'late');
    await makeVolume('v2', 'late', 'a');
    await until(persistentvolumes, (l) => l.get('v2')?.status?.phase === 'Available', 'a free volume');
    await makePod('second', 'later');
    assert.equal(await nodeOf('second'), 'a');
    const claim = await client.get(persistentvolumeclaims, { name: 'later', namespace });
    assert.equal(claim.spec?.volumeName, 'v2');

    // A class with a provisioner: the directory is made on the node that the pod got, and goes with the claim.
    await client.create(storageclasses, {
      metadata: { name: 'local-path' },
      provisioner: 'porthole.dev/local-path',
      volumeBindingMode: 'WaitForFirstConsumer',
    });
    await makeClaim('made', 'local-path');
    await makePod('third', 'made');
    const node = await nodeOf('third');
    const made = await until(
      persistentvolumes,
      (l) => l.list().find(({ spec }) => spec?.storageClassName === 'local-path'),
      'a volume',
    );
    assert.match(made.spec?.hostPath?.path ?? '', /^\/var\/lib\/porthole-volumes\/pvc-[0-9a-f-]+_data_made$/);
    const [term] = made.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    assert.deepEqual(term?.matchExpressions?.[0]?.values, [node]);
    await client.delete(pods, { name: 'third', namespace }, { gracePeriodSeconds: 0 });
    await client.delete(persistentvolumeclaims, { name: 'made', namespace });
    await until(persistentvolumes, (l) => l.get(made.metadata.name) === undefined, 'the volume is gone');
  });
});
