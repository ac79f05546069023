// DaemonSets and the controllers of nodes, through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  controllerrevisions,
  daemonsets,
  leases,
  namespaces,
  nodes,
  pods,
  serviceaccounts,
} from '../../src/api/generated/resources.ts';
import type { DaemonSet } from '../../src/api/generated/types/apps-v1.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { htmlSafeJson } from '../../src/base/html-safe-json.ts';
import { targetNode } from '../../src/controllers/daemon/node-fit.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

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

/** The same with all keys in order. */
const byKey = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(byKey)
    : typeof value !== 'object' || value === null
      ? value
      : Object.fromEntries(
          Object.entries(value)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, field]) => [key, byKey(field)]),
        );

/** As a kubelet that comes up. */
async function addNode({ client }: ControllersCluster, name: string, os: string): Promise<void> {
  await client.create(nodes, { metadata: { name, labels: { 'kubernetes.io/os': os } }, spec: {} });
  const body = {
    status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }] },
  };
  await client.patch(nodes, { name }, { type: 'strategic', body }, { subresource: 'status' });
}

describe('daemonset-controller and the controllers of nodes', () => {
  it('place one pod on each node that fits, and each node gets its own addresses', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const os = 'kubernetes.io/os';
    for (const [name, value] of Object.entries({ l1: 'linux', w1: 'windows', w2: 'windows' }))
      await addNode(cluster, name, value);
    const made = agent('agent:1', { [os]: 'windows' });
    made.metadata.annotations = { 'kubernetes.io/change-cause': 'first' };
    await client.create(daemonsets, made);
    const two = await until(
      pods,
      (l) => l.list(namespace).length === 2 && l.list(namespace),
      'a pod on each Windows node',
    );
    assert.deepEqual(two.map(targetNode).sort(), ['w1', 'w2']);
    assert.equal(two[0]!.metadata.labels?.['pod-template-generation'], '1');
    assert.ok(two[0]!.spec.tolerations?.some((x) => x.key === 'node.kubernetes.io/unreachable'));
    await addNode(cluster, 'w3', 'windows');
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
    assert.deepEqual(history[0]!.metadata.annotations, {
      'deprecated.daemonset.template.generation': '1',
      'kubernetes.io/change-cause': 'first',
    });

    const all = await until(
      nodes,
      (l) => l.list().every((node) => node.spec?.podCIDR !== undefined) && l.list(),
      'addresses for all nodes',
    );
    assert.equal(new Set(all.map((node) => node.spec?.podCIDR)).size, 4);
    for (const node of all) assert.match(node.spec?.podCIDR ?? '', /^10\.244\.\d+\.0\/24$/);
  });

  it('keep a revision whose bytes are those that upstream makes of the template, in JSON and in protobuf', async (t) => {
    const { client, server, until } = await startCluster(t);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    for (const [name, size] of [
      ['small', 1],
      ['large', 300_000],
    ] as const) {
      const made = agent('agent:1', { zone: 'none' });
      made.metadata.name = name;
      const { metadata, spec } = made.spec.template;
      metadata!.annotations = { why: '<ä & \u2028>'.repeat(size > 1 ? 9000 : 1), long: 'x'.repeat(size) };
      spec!.containers[0]!.command = ['sh', '-c', 'a && b > c'];
      const { spec: kept } = await client.create(daemonsets, made);
      const hash = await until(
        controllerrevisions,
        (l) => l.list(namespace).find((one) => one.metadata.name.startsWith(name))?.metadata.name,
        'history',
      );
      // As getPatch of upstream's controllers: a map of Go, by its encoder.
      const expected = htmlSafeJson(byKey({ spec: { template: { ...kept.template, $patch: 'replace' } } }));
      const url = `/apis/apps/v1/namespaces/${namespace}/controllerrevisions`;
      for (const path of [`${url}/${hash}`, url]) {
        const { text } = await server.ask('GET', path);
        assert.ok(text.includes(`"data":${expected},`), text.slice(0, 5000));
        const accept = 'application/vnd.kubernetes.protobuf';
        const { bytes } = await server.ask('GET', path, undefined, { accept });
        assert.ok(bytes.includes(expected), path);
      }
    }
  });

  it('notice a node that falls silent, taint it, and evict what does not tolerate that', async (t) => {
    const cluster = await startCluster(t, {
      nodeMonitorGracePeriodMs: 1000,
      nodeEvictions: { monitorPeriodMs: 100 },
    });
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(serviceaccounts, { metadata: { name: 'default', namespace } }).catch(() => {});
    await addNode(cluster, 'alive', 'linux');
    await addNode(cluster, 'silent', 'linux');
    // One node goes on renewing its lease, for as long as the test lasts.
    const lease = await client.create(leases, {
      metadata: { name: 'alive', namespace: 'kube-node-lease' },
      spec: { holderIdentity: 'alive' },
    });
    let beats = 0;
    const beat = async (): Promise<void> => {
      beats += 1;
      const renewTime = new Date().toISOString().replace('Z', `${String(beats % 1000).padStart(3, '0')}Z`);
      await client.patch(leases, lease.metadata, { type: 'merge', body: { spec: { renewTime } } });
    };
    const timer = setInterval(() => void beat().catch(() => {}), 200);
    t.after(() => clearInterval(timer));
    const pod = (name: string, tolerations: object[]): Pod =>
      ({
        metadata: { name, namespace },
        spec: {
          nodeName: 'silent',
          terminationGracePeriodSeconds: 0,
          tolerations,
          containers: [{ name: 'c', image: 'i' }],
        },
      }) as unknown as Pod;
    const unreachable = {
      key: 'node.kubernetes.io/unreachable',
      operator: 'Exists',
      effect: 'NoExecute',
    };
    await client.create(pods, pod('leaves', [{ ...unreachable, tolerationSeconds: 0 }]));
    await client.create(pods, pod('stays', [unreachable]));
    const silent = await until(
      nodes,
      (l) => (l.get('silent')?.spec?.taints ?? []).some((x) => x.effect === 'NoExecute') && l.get('silent'),
      'the taint',
    );
    assert.deepEqual(silent.spec?.taints?.map((x) => `${x.key}:${x.effect}`).sort(), [
      'node.kubernetes.io/unreachable:NoExecute',
      'node.kubernetes.io/unreachable:NoSchedule',
    ]);
    const ready = silent.status?.conditions?.find((c) => c.type === 'Ready');
    assert.deepEqual(
      [ready?.status, ready?.reason, ready?.message],
      ['Unknown', 'NodeStatusUnknown', 'Kubelet stopped posting node status.'],
    );
    await until(
      pods,
      (l) =>
        l.get('leaves', namespace)?.metadata.deletionTimestamp !== undefined ||
        l.get('leaves', namespace) === undefined,
      'the eviction',
    );
    assert.equal(
      (await client.get(pods, { name: 'stays', namespace })).metadata.deletionTimestamp,
      undefined,
    );
    assert.equal((await client.get(nodes, { name: 'alive' })).spec?.taints, undefined);
  });

  it('replace a pod that fails at once, and the next ones ever later', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await addNode(cluster, 'l1', 'linux');
    await client.create(daemonsets, agent('agent:1', {}));
    const seen = new Set<string | undefined>();
    const began = performance.now();
    for (let round = 0; round < 3; round++) {
      const fresh = await until(
        pods,
        (l) => l.list(namespace).find(({ metadata }) => !seen.has(metadata.uid)),
        'another pod',
      );
      seen.add(fresh.metadata.uid);
      const body = { status: { phase: 'Failed', reason: 'UnexpectedAdmissionError' } };
      await client.patch(pods, fresh.metadata, { type: 'merge', body }, { subresource: 'status' });
    }
    const last = (l: { list(namespace: string): readonly Pod[] }): Pod | undefined =>
      l.list(namespace).find(({ metadata }) => !seen.has(metadata.uid));
    await until(pods, last, 'the last pod');
    // The first goes at once, the second after a second, the third after two more.
    assert.ok(performance.now() - began >= 3_000);
  });
});
