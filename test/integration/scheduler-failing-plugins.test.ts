// A plugin of the scheduler that throws fails its pod, which is tried again; other pods are scheduled meanwhile.
import { describe, it, type TestContext } from 'node:test';
import { events, namespaces, nodes, pods, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { createEventRecorder } from '../../src/client/event-recorder.ts';
import { silentLogger as log } from '../../src/component-base/logger.ts';
import { systemClock as clock } from '../../src/component-base/system-clock.ts';
import { systemRandom as random } from '../../src/component-base/system-random.ts';
import type { Plugin } from '../../src/scheduler/framework/plugin.ts';
import { startScheduler } from '../../src/scheduler/scheduler.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';
import { startCluster } from './controllers-cluster.ts';

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

async function startWith(t: TestContext, extraPlugins: readonly Plugin[]) {
  const cluster = await startCluster(t);
  const own = cluster.server.controlPlane.clientFor({
    name: 'system:kube-scheduler',
    groups: ['system:authenticated'],
  });
  const informers = frozenInformers({ client: cluster.client, clock, random, log });
  const recorder = createEventRecorder({ client: own, clock, log }, { component: 'default-scheduler' });
  const { metrics } = cluster.server;
  const options = { client: own, informers, events: recorder, clock, random, log, metrics, extraPlugins };
  const scheduler = startScheduler(options);
  informers.start();
  t.after(async () => {
    scheduler.stop();
    await informers.stop();
  });
  return cluster;
}

describe('R20: a plugin that throws', () => {
  it('fails its pod at every extension point: an event says so, and the pod is scheduled at another try', async (t) => {
    const { client, until } = await startWith(t, [...points.map(throwsOnce), refusesOnce()]);
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(serviceaccounts, { metadata: { name: 'default', namespace } }).catch(() => {});
    await client.create(nodes, { metadata: { name: 'a' }, spec: {} });
    const status = {
      allocatable: { cpu: '4', memory: '8Gi', pods: '10' },
      conditions: [{ type: 'Ready', status: 'True' }],
    };
    await client.patch(nodes, { name: 'a' }, { type: 'merge', body: { status } }, { subresource: 'status' });
    await client.patch(nodes, { name: 'a' }, { type: 'merge', body: { spec: { taints: null } } });
    const names = [...points.map((point) => point.toLowerCase()), 'well'];
    await Promise.all(
      names.map((name) =>
        client.create(pods, {
          metadata: { name, namespace },
          spec: { containers: [{ name: 'c', image: 'i' }] },
        }),
      ),
    );
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
