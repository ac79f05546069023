// Pods that fit nowhere cost nothing while they wait: no try, no timer, no write, until there is a node.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { events, nodes, pods } from '../../src/api/generated/resources.ts';
import { FakeClock } from '../../src/base/testing/fake-clock.ts';
import { startSchedulerCluster } from './scheduler-cluster.ts';

const namespace = 'work';
const names = Array.from({ length: 20 }, (_, i) => `p${i}`);
const message = 'no nodes available to schedule pods';

it('pods without any node wait for one: nothing is due but the flush, which writes no condition again', async (t) => {
  const clock = new FakeClock();
  const { client, until } = await startSchedulerCluster(t, { namespace, clock });
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
