// A try that fails: a plugin that throws fails its pod, which is tried again; a pod that is gone by then is not.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { events, nodes, pods } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import type { Client } from '../../src/client/client.ts';
import type { Plugin } from '../../src/scheduler/framework/plugin.ts';
import { type SchedulerCluster, startSchedulerCluster } from './scheduler-cluster.ts';

const namespace = 'work';
const points = ['preFilter', 'filter', 'reserve', 'permit', 'preBind', 'postFilter'] as const;
type Point = (typeof points)[number];

/** Throws once at `point`, for the pod of that name. */
function throwsOnce(point: Point): Plugin {
  let thrown = false;
  return {
    name: `ThrowsIn-${point}`,
    requeueOn: ['NodeAdd'],
    [point]: (_state: unknown, pod: Pod) => {
      if (pod.metadata.name !== point.toLowerCase()) return undefined;
      if (thrown) return point === 'postFilter' ? { message: '' } : undefined;
      thrown = true;
      throw new Error(`${point} is broken`);
    },
  };
}
/** No node takes the pod of `postFilter` at its first try. */
function refusesOnce(): Plugin {
  let refused = false;
  return {
    name: 'RefusesOnce',
    requeueOn: ['NodeAdd'],
    filter: (_state, pod) => {
      if (pod.metadata.name !== 'postfilter' || refused) return undefined;
      refused = true;
      return { code: 'Unschedulable', reasons: ['not yet'] };
    },
  };
}

async function createNode({ client }: { readonly client: Client }): Promise<void> {
  await client.create(nodes, { metadata: { name: 'a' }, spec: {} });
  const status = {
    allocatable: { cpu: '4', memory: '8Gi', pods: '10' },
    conditions: [{ type: 'Ready', status: 'True' }],
  };
  await client.patch(nodes, { name: 'a' }, { type: 'merge', body: { status } }, { subresource: 'status' });
  await client.patch(nodes, { name: 'a' }, { type: 'merge', body: { spec: { taints: null } } });
}

const createPod = ({ client }: { readonly client: Client }, metadata: Pod['metadata']): Promise<Pod> =>
  client.create(pods, {
    metadata: { ...metadata, namespace },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });

describe('a plugin that throws', () => {
  it('fails its pod at every extension point: an event says so, and the pod is scheduled at another try', async (t) => {
    const cluster = await startSchedulerCluster(t, {
      namespace,
      extraPlugins: [...points.map(throwsOnce), refusesOnce()],
    });
    const { until } = cluster;
    await createNode(cluster);
    const names = [...points.map((point) => point.toLowerCase()), 'well'];
    await Promise.all(names.map((name) => createPod(cluster, { name })));
    for (const name of names)
      await until(pods, (list) => list.get(name, namespace)?.spec.nodeName === 'a', `${name} is scheduled`);
    for (const point of points)
      await until(
        events,
        (list) =>
          list
            .list()
            .some(
              ({ reason, message, involvedObject }) =>
                reason === 'FailedScheduling' &&
                involvedObject.name === point.toLowerCase() &&
                message === `${point} is broken`,
            ),
        `an event tells of ${point}`,
      );
  });
});

/** Holds the first pod before it is bound, until `end` is called. */
function holdsFirst() {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const tried: string[] = [];
  const plugin: Plugin = {
    name: 'HoldsFirst',
    async preBind(_state, pod) {
      tried.push(pod.metadata.uid ?? '');
      reached.resolve();
      if (tried.length === 1) await held.promise;
      return undefined;
    },
  };
  return { plugin, reached: reached.promise, end: held.resolve, tried };
}

/** The scheduler's own informer has seen that it is gone. */
function schedulerLoses({ informers }: SchedulerCluster, name: string): Promise<void> {
  const informer = informers.informer(pods);
  return new Promise((resolve) => {
    const check = (): void => {
      if (informer.lister.get(name, namespace) === undefined) resolve();
    };
    informer.addHandler({ deleted: check });
    check();
  });
}

/** Resolves when as many tries went wrong, and tells how many pods wait. */
async function waitingAfter({ server }: SchedulerCluster, errors: number): Promise<number> {
  for (;;) {
    const { text } = await server.metrics.text();
    const sum = (start: string): number =>
      text
        .split('\n')
        .filter((line) => line.startsWith(start))
        .reduce((all, line) => all + Number(line.split(' ').at(-1)), 0);
    if (sum('scheduler_schedule_attempts_total{result="error"') >= errors)
      return sum('scheduler_pending_pods{');
    await setImmediate();
  }
}

describe('a pod that is deleted while it is being bound', () => {
  it('is not tried again, and another of its name is scheduled', { timeout: 60_000 }, async (t) => {
    const { end, plugin, reached, tried } = holdsFirst();
    const cluster = await startSchedulerCluster(t, { namespace, extraPlugins: [plugin] });
    await createNode(cluster);
    const gone = await createPod(cluster, { name: 'p' });
    await reached;
    await cluster.client.delete(pods, { name: 'p', namespace }, { gracePeriodSeconds: 0 });
    await schedulerLoses(cluster, 'p');
    end();
    assert.equal(await waitingAfter(cluster, 1), 0, 'nothing waits in the queue');
    const next = await createPod(cluster, { name: 'p' });
    await cluster.until(pods, (list) => list.get('p', namespace)?.spec.nodeName === 'a', 'it is scheduled');
    assert.deepEqual(tried, [gone.metadata.uid, next.metadata.uid]);
  });
});
