// Pods that fit nowhere cost nothing while they wait: no try, no timer, no write, until there is a node.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { events, namespaces, nodes, pods, serviceaccounts } from '../../src/api/generated/resources.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { createEventRecorder } from '../../src/client/event-recorder.ts';
import { silentLogger as log } from '../../src/component-base/logger.ts';
import { systemClock } from '../../src/component-base/system-clock.ts';
import { systemRandom as random } from '../../src/component-base/system-random.ts';
import { startScheduler } from '../../src/scheduler/scheduler.ts';
import { frozenInformers } from '../harness/frozen-informers.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'work';
const names = Array.from({ length: 20 }, (_, i) => `p${i}`);
const message = 'no nodes available to schedule pods';

it('R5: pods without any node wait for one: nothing is due but the flush, which writes no condition again', async (t) => {
  const { client, server, until } = await startCluster(t);
  const own = server.controlPlane.clientFor({
    name: 'system:kube-scheduler',
    groups: ['system:authenticated'],
  });
  const informers = frozenInformers({ client: server.controlPlane.reader, clock: systemClock, random, log });
  const recorder = createEventRecorder(
    { client: own, clock: systemClock, log },
    { component: 'default-scheduler' },
  );
  const clock = new FakeClock();
  const { metrics } = server;
  const options = { client: own, informers, events: recorder, clock, random, log, metrics };
  const scheduler = startScheduler(options);
  informers.start();
  t.after(async () => {
    scheduler.stop();
    await informers.stop();
  });
  await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await client.create(serviceaccounts, { metadata: { name: 'default', namespace } }).catch(() => {});
  for (const name of names)
    await client.create(pods, {
      metadata: { name, namespace },
      spec: { containers: [{ name: 'c', image: 'i' }], tolerations: [{ operator: 'Exists' }] },
    });

  const eachTold = (times: number): Promise<unknown> =>
    until(
      events,
      (list) =>
        names.every((name) =>
          list
            .list()
            .some(
              (event) =>
                event.involvedObject.name === name && event.message === message && event.count === times,
            ),
        ),
      `each pod is told of ${times} times`,
    );
  const versions = async (): Promise<(string | undefined)[]> =>
    (await client.list(pods, { namespace })).items.map(({ metadata }) => metadata.resourceVersion);

  await eachTold(1);
  await until(
    pods,
    (list) => names.every((name) => list.get(name, namespace)?.status?.conditions?.[0]?.message === message),
    'each pod says why',
  );
  assert.equal(clock.pending, 1, 'nothing is due but the flush');
  const before = await versions();

  clock.advance(330_000);
  await eachTold(2);
  assert.deepEqual(
    await versions(),
    before,
    'the second try with the same reason wrote nothing into the pods',
  );
  assert.equal(clock.pending, 1);

  // Longer than the back-off of a second try.
  clock.advance(10_000);
  const allocatable = { cpu: '4', memory: '8Gi', pods: '110' };
  await client.create(nodes, { metadata: { name: 'a' }, spec: {}, status: { allocatable } });
  await until(
    pods,
    (list) => names.every((name) => list.get(name, namespace)?.spec.nodeName === 'a'),
    'each pod is scheduled',
  );
});
