// What the scheduler tells of itself while pods are bound, wait and are tried again, by upstream's names.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { nodes, persistentvolumeclaims, pods, storageclasses } from '../../src/api/generated/resources.ts';
import type { Plugin } from '../../src/scheduler/framework/plugin.ts';
import { unschedulable } from '../../src/scheduler/framework/status.ts';
import { eventually } from '../harness/eventually.ts';
import { type Family, readExposition, sampleOf } from '../harness/exposition.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';

const namespace = 'work';
const profile = 'default-scheduler';

interface Scheduling extends SchedulerCluster {
  told(): Promise<ReadonlyMap<string, Family>>;
}

async function startScheduling(t: TestContext, extraPlugins: readonly Plugin[] = []): Promise<Scheduling> {
  const cluster = await startSchedulerCluster(t, { namespace, extraPlugins });
  await cluster.informers.waitForSync();
  return {
    ...cluster,
    told: async () => readExposition((await cluster.server.metrics.text()).text),
  };
}

const makePod = ({ client }: Scheduling, name: string, spec: object = {}): Promise<unknown> =>
  client.create(pods, {
    metadata: { name, namespace },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
  });

/** A node with room for so many pods. */
async function makeNode({ client }: Scheduling, name: string, room: string): Promise<void> {
  await client.create(nodes, { metadata: { name }, spec: {} });
  const status = {
    allocatable: { cpu: '4', memory: '8Gi', pods: room },
    conditions: [{ type: 'Ready', status: 'True' }],
  };
  await client.patch(nodes, { name }, { type: 'merge', body: { status } }, { subresource: 'status' });
  await client.patch(nodes, { name }, { type: 'merge', body: { spec: { taints: null } } });
}

test('attempts, queues, cache, extension points and plugins are told of pods that were bound and pods that wait', async (t) => {
  const cluster = await startScheduling(t);
  await makeNode(cluster, 'a', '2');
  await makePod(cluster, 'gated', { schedulingGates: [{ name: 'wait' }] });
  for (const name of ['one', 'two', 'three']) await makePod(cluster, name);
  const told = async (
    expected: readonly (readonly [name: string, labels: Record<string, string>, value: number])[],
  ): Promise<void> =>
    eventually(async () => {
      const families = await cluster.told();
      assert.deepEqual(
        expected.map(([name, labels]) => [name, labels, sampleOf(families, `scheduler_${name}`, labels)]),
        expected,
      );
    });
  await told([
    ['schedule_attempts_total', { result: 'scheduled', profile }, 2],
    ['scheduling_attempt_duration_seconds_count', { result: 'scheduled', profile }, 2],
    ['pending_pods', { queue: 'active' }, 0],
    ['pending_pods', { queue: 'unschedulable' }, 1],
    ['pending_pods', { queue: 'gated' }, 1],
    ['unschedulable_pods', { plugin: 'NodeResourcesFit', profile }, 1],
    ['unschedulable_pods', { plugin: 'SchedulingGates', profile }, 1],
    ['queue_incoming_pods_total', { queue: 'active', event: 'UnschedulablePodAdd' }, 3],
    ['queue_incoming_pods_total', { queue: 'gated', event: 'UnschedulablePodAdd' }, 1],
    ['pod_scheduling_attempts_sum', {}, 2],
    ['pod_scheduling_sli_duration_seconds_count', { attempts: '1' }, 2],
    ['cache_size', { type: 'nodes' }, 1],
    ['cache_size', { type: 'pods' }, 2],
    ['cache_size', { type: 'assumed_pods' }, 0],
    ['framework_extension_point_duration_seconds_count', { extension_point: 'Bind', status: 'Success' }, 2],
    ['plugin_execution_duration_seconds_count', { plugin: 'DefaultBinder', extension_point: 'Bind' }, 1],
  ]);
  const first = await cluster.told();
  const tries =
    (sampleOf(first, 'scheduler_schedule_attempts_total', { result: 'unschedulable' }) ?? 0) +
    (sampleOf(first, 'scheduler_schedule_attempts_total', { result: 'scheduled' }) ?? 0);
  assert.equal(sampleOf(first, 'scheduler_scheduling_algorithm_duration_seconds_count'), tries);
  // One node, each of whose filters is asked at most once a try.
  const evaluated = sampleOf(first, 'scheduler_plugin_evaluation_total', {
    plugin: 'NodeResourcesFit',
    extension_point: 'Filter',
  });
  assert.equal(evaluated, tries);

  await makeNode(cluster, 'b', '2');
  await told([
    ['schedule_attempts_total', { result: 'scheduled', profile }, 3],
    ['pending_pods', { queue: 'unschedulable' }, 0],
    ['pending_pods', { queue: 'gated' }, 1],
    ['cache_size', { type: 'nodes' }, 2],
    ['cache_size', { type: 'pods' }, 3],
  ]);
});

test("what wakes a pod is told by upstream's name of the event", async (t) => {
  const cluster = await startScheduling(t);
  const { client } = cluster;
  /** How many waits there were so far, and that nothing is tried now. */
  const atRest = (queue: 'gated' | 'unschedulable', refusals: number): Promise<void> =>
    eventually(async () => {
      const families = await cluster.told();
      const of = { result: 'unschedulable', profile };
      assert.equal(sampleOf(families, 'scheduler_schedule_attempts_total', of) ?? 0, refusals);
      assert.equal(sampleOf(families, 'scheduler_pending_pods', { queue }), 1);
    });
  const isTold = (event: string): Promise<void> =>
    eventually(async () => {
      const families = await cluster.told();
      const counts = ['active', 'backoff'].map(
        (queue) => sampleOf(families, 'scheduler_queue_incoming_pods_total', { queue, event }) ?? 0,
      );
      assert.deepEqual([event, counts[0]! + counts[1]!], [event, 1]);
    });
  const change = (name: string, body: object): Promise<unknown> =>
    client.patch(pods, { name, namespace }, { type: 'merge', body });
  await makeNode(cluster, 'a', '9');
  await makePod(cluster, 'gated', { schedulingGates: [{ name: 'wait' }] });
  await atRest('gated', 0);
  await change('gated', { spec: { schedulingGates: null } });
  await isTold('UnschedulablePodUpdatePodSchedulingGatesEliminated');
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { not: 'there' } } };
  await makePod(cluster, 'lonely', {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  });
  await atRest('unschedulable', 1);
  await change('lonely', { metadata: { labels: { changed: 'yes' } } });
  await isTold('UnschedulablePodUpdatePodLabel');
  await atRest('unschedulable', 2);
  await client.delete(pods, { name: 'lonely', namespace }, { gracePeriodSeconds: 0 });
  const taint = (taints: unknown): Promise<unknown> =>
    client.patch(nodes, { name: 'a' }, { type: 'merge', body: { spec: { taints } } });
  await taint([{ key: 'k', effect: 'NoSchedule' }]);
  await makePod(cluster, 'shy');
  await atRest('unschedulable', 3);
  // Neither its labels nor a node that is as it was are why it waits.
  await change('shy', { metadata: { labels: { changed: 'yes' } } });
  const { spec } = await client.get(pods, { name: 'shy', namespace });
  const tolerations = [...(spec.tolerations ?? []), { key: 'other', operator: 'Exists' }];
  await change('shy', { spec: { tolerations } });
  await isTold('UnschedulablePodUpdatePodToleration');
  await atRest('unschedulable', 4);
  await isTold('UnschedulablePodUpdatePodLabel');
  await client.delete(pods, { name: 'shy', namespace }, { gracePeriodSeconds: 0 });
  await taint(null);
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  await makePod(cluster, 'stores', { volumes });
  await atRest('unschedulable', 5);
  await client.create(persistentvolumeclaims, {
    metadata: { name: 'data', namespace },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  });
  await isTold('PersistentVolumeClaimAdd');
});

test('a refused reservation is undone once, and each point that was reached is timed', async (t) => {
  let reserved = 0;
  const undone: number[] = [];
  const holds: Plugin = {
    name: 'Holds',
    reserve: () => {
      reserved += 1;
      return undefined;
    },
    unreserve: () => {
      undone.push(reserved);
    },
    postFilter: () => ({ status: unschedulable() }),
  };
  const refuses: Plugin = {
    name: 'Refuses',
    requeueOn: [],
    reserve: () => (reserved === 1 ? unschedulable('not yet') : undefined),
  };
  const cluster = await startScheduling(t, [holds, refuses]);
  await makeNode(cluster, 'a', '9');
  await makePod(cluster, 'one');
  const point = (extension_point: string, status: string): Promise<void> =>
    eventually(async () => {
      const of = { extension_point, status, profile };
      const name = 'scheduler_framework_extension_point_duration_seconds_count';
      assert.equal(sampleOf(await cluster.told(), name, of), 1);
    });
  await point('Reserve', 'Unschedulable');
  await point('Unreserve', 'Success');
  assert.deepEqual(undone, [1]);
  await makePod(cluster, 'nowhere', { nodeSelector: { not: 'there' } });
  await point('PostFilter', 'Unschedulable');
});

test('a scheduler that leads again goes on counting, and is told at once of what the informers hold', async (t) => {
  const cluster = await startScheduling(t);
  await cluster.client.create(storageclasses, { metadata: { name: 'c' }, provisioner: 'x' });
  await makeNode(cluster, 'a', '9');
  await makePod(cluster, 'one');
  const scheduled = (times: number): Promise<void> =>
    eventually(async () => {
      const families = await cluster.told();
      const of = { result: 'scheduled', profile };
      assert.equal(sampleOf(families, 'scheduler_schedule_attempts_total', of), times);
      assert.equal(sampleOf(families, 'scheduler_cache_size', { type: 'pods' }), times);
      assert.equal(sampleOf(families, 'scheduler_cache_size', { type: 'nodes' }), 1);
    });
  await scheduled(1);
  cluster.again();
  await makePod(cluster, 'two');
  await scheduled(2);
  assert.deepEqual(cluster.errors, []);
});
