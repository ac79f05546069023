// A real pod that is ended for one of higher priority, and its disruption budget, as a user of kubectl sees it.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { TestCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { limit, listManifest, podSpec, startLinuxCluster, untilTerm } from '../harness/linux-cluster.ts';

let cluster: TestCluster;
let kubectl: Kubectl;
/** Two of the pods fill the node: a third has no room. */
let cpu: string;
before(async () => {
  cluster = await startLinuxCluster();
  kubectl = cluster.kubectl;
  const { items } = await kubectl.json<{ items: { status: { allocatable: { cpu: string } } }[] }>([
    'get',
    'nodes',
  ]);
  const text = items[0]!.status.allocatable.cpu;
  const milli = text.endsWith('m') ? Number(text.slice(0, -1)) : Number(text) * 1_000;
  cpu = `${Math.trunc(milli * 0.4)}m`;
  await kubectl.apply(
    listManifest(
      ...Object.entries({ low: 10, high: 1_000 }).map(([name, value]) => ({
        apiVersion: 'scheduling.k8s.io/v1',
        kind: 'PriorityClass',
        metadata: { name },
        value,
      })),
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'keep' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
      },
    ),
  );
}, limit);
after(() => cluster?.down(), limit);

const pod = (name: string, priorityClassName: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name } },
    spec: podSpec({ command: untilTerm, resources: { requests: { cpu } } }, { priorityClassName }),
  });
const ready = (name: string): Promise<string> =>
  kubectl.ok(['wait', '--for=condition=Ready', `pod/${name}`, '--timeout=60s']);

describe('a pod of higher priority on a full node', () => {
  test('takes the place of the one that no budget keeps', limit, async () => {
    for (const name of ['kept', 'free']) {
      await kubectl.apply(pod(name, 'low'));
      await ready(name);
    }
    await eventually(async () =>
      assert.equal(await kubectl.ok(['get', 'pdb', 'keep', '-o', 'jsonpath={.status.currentHealthy}']), '1'),
    );
    await kubectl.apply(pod('important', 'high'));
    await ready('important');
    assert.equal(
      await kubectl.ok(['get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}']),
      'important kept',
    );
    const uid = await kubectl.ok(['get', 'pod', 'important', '-o', 'jsonpath={.metadata.uid}']);
    await eventually(async () => {
      const told = await kubectl.ok(['get', 'events', '--field-selector', 'involvedObject.name=free']);
      assert.ok(told.includes(`Preempted by pod ${uid} on node linux-1`), told);
    });
    const { items } = await kubectl.json<{ items: { message: string }[] }>([
      'get',
      'events',
      '--field-selector',
      'involvedObject.name=important,reason=FailedScheduling',
    ]);
    assert.equal(items[0]?.message, '0/1 nodes are available: 1 Insufficient cpu.');
  });

  test('and where all are kept, breaks the budget', limit, async () => {
    await kubectl.apply(pod('urgent', 'high'));
    await ready('urgent');
    assert.equal(
      await kubectl.ok(['get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}']),
      'important urgent',
    );
  });

  test('but ends none of its own priority, and says so', limit, async () => {
    await kubectl.apply(pod('late', 'high'));
    await eventually(async () =>
      assert.equal(
        await kubectl.ok([
          'get',
          'pod',
          'late',
          '-o',
          'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}',
        ]),
        '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
      ),
    );
  });
});
