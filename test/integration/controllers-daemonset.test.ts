// DaemonSets and the controllers of nodes, through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  controllerrevisions,
  daemonsets,
  namespaces,
  nodes,
  pods,
} from '../../src/api/generated/resources.ts';
import type { DaemonSet } from '../../src/api/generated/types/apps-v1.ts';
import { targetNode } from '../../src/controllers/daemon/node-fit.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'system';
const agent = (image: string, nodeSelector: Record<string, string>): DaemonSet =>
  ({
    metadata: { name: 'agent', namespace },
    spec: {
      selector: { matchLabels: { app: 'agent' } },
      template: {
        metadata: { labels: { app: 'agent' } },
        spec: { nodeSelector, containers: [{ name: 'agent', image }] },
      },
    },
  }) as unknown as DaemonSet;

describe('daemonset-controller and the controllers of nodes', () => {
  it('place one pod on each node that fits, and each node gets its own addresses', async (t) => {
    const { client, until } = await startCluster(t, { disabled: ['node-lifecycle-controller'] });
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const os = 'kubernetes.io/os';
    for (const [name, value] of [
      ['l1', 'linux'],
      ['w1', 'windows'],
      ['w2', 'windows'],
    ] as const)
      await client.create(nodes, { metadata: { name, labels: { [os]: value } }, spec: {} });
    await client.create(daemonsets, agent('agent:1', { [os]: 'windows' }));
    const two = await until(
      pods,
      (l) => l.list(namespace).length === 2 && l.list(namespace),
      'a pod on each Windows node',
    );
    assert.deepEqual(two.map(targetNode).sort(), ['w1', 'w2']);
    assert.ok(two[0]!.spec.tolerations?.some((x) => x.key === 'node.kubernetes.io/unreachable'));
    await client.create(nodes, { metadata: { name: 'w3', labels: { [os]: 'windows' } }, spec: {} });
    await until(
      pods,
      (l) => l.list(namespace).some((pod) => targetNode(pod) === 'w3'),
      'a pod on the new node',
    );
    const status = await until(
      daemonsets,
      (l) => l.list(namespace)[0]?.status?.currentNumberScheduled === 3 && l.list(namespace)[0]?.status,
      'the status',
    );
    assert.deepEqual([status.desiredNumberScheduled, status.numberUnavailable], [3, 3]);
    const history = await until(
      controllerrevisions,
      (l) => l.list(namespace).length > 0 && l.list(namespace),
      'history',
    );
    assert.equal(history[0]!.revision, 1);

    const all = await until(
      nodes,
      (l) => l.list().every((node) => node.spec?.podCIDR !== undefined) && l.list(),
      'addresses for all nodes',
    );
    assert.equal(new Set(all.map((node) => node.spec?.podCIDR)).size, 4);
    for (const node of all) assert.match(node.spec?.podCIDR ?? '', /^10\.244\.\d+\.0\/24$/);
  });
});
