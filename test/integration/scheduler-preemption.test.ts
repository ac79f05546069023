// A pod of higher priority takes the place of others, through the real API server: who goes, what is said, and who waits.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { events, poddisruptionbudgets, pods } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { readExposition, sampleOf } from '../harness/exposition.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';
import { makePriorityClass, makeReadyNode, makeWaitingPod } from './scheduler-nodes.ts';

const namespace = 'work';

interface Preempting extends SchedulerCluster {
  make(
    name: string,
    spec?: Parameters<typeof makeWaitingPod>[2],
    labels?: Record<string, string>,
  ): Promise<Pod>;
  placed(name: string): Promise<string>;
  /** The pod, once its PodScheduled says so. */
  refused(name: string, message: string): Promise<Pod>;
  ending(name: string): Promise<Pod>;
  /** As its kubelet does when all has ended. */
  gone(name: string): Promise<void>;
}

async function start(t: TestContext): Promise<Preempting> {
  const cluster = await startSchedulerCluster(t, { namespace });
  const { client, until } = cluster;
  await makePriorityClass(client, 'low', 10);
  await makePriorityClass(client, 'high', 1_000);
  await makePriorityClass(client, 'polite', 1_000, { preemptionPolicy: 'Never' });
  return {
    ...cluster,
    make: (name, spec, labels = {}) => makeWaitingPod(client, { name, namespace, labels }, spec),
    placed: (name) => until(pods, (list) => list.get(name, namespace)?.spec.nodeName, `a node for ${name}`),
    refused: (name, message) =>
      until(
        pods,
        (list) => {
          const pod = list.get(name, namespace);
          return pod?.status?.conditions?.some((one) => one.message === message) === true && pod;
        },
        `${name}: ${message}`,
      ),
    ending: (name) =>
      until(
        pods,
        (list) => {
          const pod = list.get(name, namespace);
          return pod?.metadata.deletionTimestamp !== undefined && pod;
        },
        `${name} ends`,
      ),
    gone: (name) => client.delete(pods, { name, namespace }, { gracePeriodSeconds: 0 }),
  };
}

const low = { cpu: '3', priorityClassName: 'low' };
const high = { cpu: '3', priorityClassName: 'high' };

test('a victim is told why and by whom, its place is kept, and the pod is bound once it is gone', async (t) => {
  const { client, ending, errors, gone, make, placed, refused, server, until } = await start(t);
  await makeReadyNode(client, 'a');
  await make('victim', low);
  assert.equal(await placed('victim'), 'a');
  const { metadata } = await make('important', high);
  const victim = await ending('victim');
  const condition = victim.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual(
    [condition?.status, condition?.reason, condition?.message],
    ['True', 'PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod'],
  );
  await until(
    events,
    (list) =>
      list
        .list(namespace)
        .find(
          ({ involvedObject, message, reason, type }) =>
            involvedObject.name === 'victim' &&
            reason === 'Preempted' &&
            type === 'Normal' &&
            message === `Preempted by pod ${metadata.uid} on node a`,
        ),
    'the event',
  );
  const waiting = await refused('important', '0/1 nodes are available: 1 Insufficient cpu.');
  assert.equal(waiting.status?.nominatedNodeName, 'a');
  // A pod of lower priority does not take the room.
  await make('sneaky', low);
  await refused(
    'sneaky',
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
  );
  await gone('victim');
  assert.equal(await placed('important'), 'a');
  const bound = await client.get(pods, { name: 'important', namespace });
  assert.equal(bound.status?.nominatedNodeName, undefined);
  const families = readExposition((await server.metrics.text()).text);
  assert.equal(sampleOf(families, 'scheduler_preemption_victims_count'), 1);
  assert.ok((sampleOf(families, 'scheduler_preemption_attempts_total') ?? 0) >= 2);
  assert.deepEqual(errors, []);
});

test('while victims end nobody else has to go, also after the scheduler began anew', async (t) => {
  const { again, client, ending, gone, make, placed, refused } = await start(t);
  for (const node of ['a', 'b']) await makeReadyNode(client, node);
  for (const name of ['one', 'two']) await make(name, low);
  const at = new Map([
    ['one', await placed('one')],
    ['two', await placed('two')],
  ]);
  await make('important', high);
  const victim = await Promise.race([ending('one'), ending('two')]);
  const other = victim.metadata.name === 'one' ? 'two' : 'one';
  const { metadata } = await refused('important', '0/2 nodes are available: 2 Insufficient cpu.');
  again();
  // Something that might have helped: it is tried again, and waits for its victim.
  await client.patch(
    pods,
    { name: 'important', namespace },
    { type: 'merge', body: { metadata: { labels: { tried: 'again' } } } },
  );
  await refused(
    'important',
    '0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to a terminating pod on the nominated node.',
  );
  assert.equal((await client.get(pods, { name: other, namespace })).metadata.deletionTimestamp, undefined);
  await gone(victim.metadata.name);
  assert.equal(await placed('important'), at.get(victim.metadata.name));
  assert.equal((await client.get(pods, { name: 'important', namespace })).metadata.uid, metadata.uid);
});

test('a disruption budget is kept where another node will do, and broken where none will', async (t) => {
  const { client, ending, make, placed, until } = await start(t);
  for (const node of ['a', 'b']) await makeReadyNode(client, node);
  await make('kept', { ...low, nodeName: 'a' }, { app: 'kept' });
  await make('free', { ...low, nodeName: 'b' }, { app: 'free' });
  await client.create(poddisruptionbudgets, {
    metadata: { name: 'keep', namespace },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
  });
  await until(
    poddisruptionbudgets,
    (list) => list.get('keep', namespace)?.status?.observedGeneration !== undefined,
    'the budget is counted',
  );
  await make('first', high);
  await ending('free');
  await client.delete(pods, { name: 'free', namespace }, { gracePeriodSeconds: 0 });
  assert.equal(await placed('first'), 'b');
  assert.equal((await client.get(pods, { name: 'kept', namespace })).metadata.deletionTimestamp, undefined);
  await make('second', high);
  await ending('kept');
});

test('a pod with preemptionPolicy Never goes first but ends nobody, and no pod ends one of its own priority', async (t) => {
  const { client, make, placed, refused } = await start(t);
  await makeReadyNode(client, 'a');
  await make('there', low);
  await placed('there');
  await make('polite', { cpu: '3', priorityClassName: 'polite' });
  await refused(
    'polite',
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible due to preemptionPolicy=Never.',
  );
  await make('equal', low);
  await refused(
    'equal',
    '0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
  );
  await make('elsewhere', { ...high, nodeSelector: { not: 'there' } });
  await refused(
    'elsewhere',
    "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
  );
  assert.equal((await client.get(pods, { name: 'there', namespace })).metadata.deletionTimestamp, undefined);
});

test('who was promised the room with a lower priority looks for another place', async (t) => {
  const { client, ending, gone, make, placed, refused, until } = await start(t);
  await makePriorityClass(client, 'middle', 100);
  await makeReadyNode(client, 'a');
  await make('victim', low);
  await placed('victim');
  await make('middle', { cpu: '3', priorityClassName: 'middle' });
  await ending('victim');
  await until(pods, (list) => list.get('middle', namespace)?.status?.nominatedNodeName === 'a', 'promised');
  // Needs more room than the victim leaves to both.
  await makeReadyNode(client, 'b', { cpu: '1' });
  await make('other', { cpu: '1', priorityClassName: 'low', nodeName: 'a' });
  await make('high', { cpu: '3500m', priorityClassName: 'high' });
  await ending('other');
  await until(
    pods,
    (list) => (list.get('middle', namespace)?.status?.nominatedNodeName ?? '') === '',
    'the promise is taken back',
  );
  await gone('victim');
  await gone('other');
  assert.equal(await placed('high'), 'a');
  await refused(
    'middle',
    '0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 1 No preemption victims found for incoming pod, 1 Preemption is not helpful for scheduling.',
  );
});
