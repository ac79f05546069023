// Fields of 64 bits at their largest: controllers and deletion work with them, and give them back digit by digit.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  controllerrevisions,
  cronjobs,
  daemonsets,
  deployments,
  jobs,
  namespaces,
  nodes,
  pods,
  serviceaccounts,
  statefulsets,
} from '../../src/api/generated/resources.ts';
import type { PodSpec } from '../../src/api/generated/types/core-v1.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const most = 2n ** 63n - 1n;
const namespace = 'long';
const forEver: PodSpec = {
  containers: [{ name: 'main', image: 'main:1' }],
  terminationGracePeriodSeconds: most,
  tolerations: [{ key: 'k', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: most }],
};
const pod = (name: string, spec: Partial<PodSpec> = {}) => ({
  metadata: { name, namespace },
  spec: { ...forEver, ...spec },
});
/** Of a workload, and its pods. */
const workload = (name: string, more: object = {}) => ({
  metadata: { name, namespace },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { name, labels: { app: name } }, spec: forEver },
    ...more,
  },
});

async function cluster(t: TestContext): Promise<ControllersCluster> {
  const started = await startCluster(t);
  await started.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
  await started.client.create(nodes, { metadata: { name: 'n1' }, spec: {} });
  await started.until(serviceaccounts, (l) => l.get('default', namespace), 'the account of pods');
  return started;
}

test('a Job of the longest deadline has a status, runs and completes', async (t) => {
  const { client, until } = await cluster(t);
  await client.create(jobs, {
    metadata: { name: 'job', namespace },
    spec: { activeDeadlineSeconds: most, template: { spec: { ...forEver, restartPolicy: 'Never' } } },
  });
  const made = await until(pods, (l) => l.list(namespace)[0], 'a pod of the job');
  await until(jobs, (l) => l.get('job', namespace)?.status?.startTime, 'a start');
  const { name } = made.metadata;
  const body = { status: { phase: 'Succeeded' } };
  await client.patch(pods, { name, namespace }, { type: 'merge', body }, { subresource: 'status' });
  const done = await until(
    jobs,
    (l) => l.list().find(({ status }) => status?.conditions?.some(({ type }) => type === 'Complete')),
    'completion',
  );
  assert.equal(done.spec.activeDeadlineSeconds, most);
});

test('a CronJob that never misses its start starts what is due', async (t) => {
  const { client, until } = await cluster(t);
  const template = { spec: { ...forEver, restartPolicy: 'Never' } };
  const made = await client.create(cronjobs, {
    metadata: { name: 'cron', namespace },
    spec: {
      schedule: '0 * * * *',
      startingDeadlineSeconds: most,
      jobTemplate: { spec: { activeDeadlineSeconds: most, template } },
    },
  });
  const lastScheduleTime = new Date(Date.now() - 3_600_000).toISOString().replace(/[.]\d+/, '');
  await client.update(cronjobs, { ...made, status: { lastScheduleTime } }, { subresource: 'status' });
  await until(cronjobs, (l) => l.get('cron', namespace)?.status?.active?.length === 1, 'a job of it');
  await until(jobs, (l) => l.list(namespace)[0]?.status?.startTime, 'a start of the job');
});

test('templates with the longest times make pods that have them, and their owners have a status', async (t) => {
  const { client, until } = await cluster(t);
  await client.create(deployments, workload('deployment'));
  await client.create(statefulsets, workload('set', { serviceName: 'set' }));
  await client.create(daemonsets, workload('daemon'));
  await until(
    deployments,
    (l) => l.get('deployment', namespace)?.status?.observedGeneration === 1,
    'deployment',
  );
  await until(statefulsets, (l) => l.get('set', namespace)?.status?.observedGeneration === 1, 'stateful set');
  await until(daemonsets, (l) => l.get('daemon', namespace)?.status?.observedGeneration === 1, 'daemon set');
  const made = await until(pods, (l) => l.list(namespace).length === 3 && l.list(namespace), 'three pods');
  for (const { spec } of made) {
    assert.equal(spec.terminationGracePeriodSeconds, most);
    assert.equal(spec.tolerations?.find(({ key }) => key === 'k')?.tolerationSeconds, most);
  }
});

test('after the highest number of a revision there is the same again', async (t) => {
  const { client, until } = await cluster(t);
  await client.create(statefulsets, workload('set', { serviceName: 'set' }));
  const { metadata } = await until(controllerrevisions, (l) => l.list(namespace)[0], 'a revision');
  const highest = { type: 'merge', body: { revision: most } } as const;
  await client.patch(controllerrevisions, { name: metadata.name, namespace }, highest);
  const body = { spec: { template: { spec: { terminationGracePeriodSeconds: 1 } } } };
  await client.patch(statefulsets, { name: 'set', namespace }, { type: 'strategic', body });
  const second = await until(
    controllerrevisions,
    (l) => l.list(namespace).find(({ metadata: { name } }) => name !== metadata.name),
    'another revision',
  );
  assert.equal(second.revision, most);
  await until(
    statefulsets,
    (l) => l.get('set', namespace)?.status?.updateRevision === second.metadata.name,
    'a status that names it',
  );
});

test('a pod that tolerates a taint for the longest time stays; its deletion can be made shorter', async (t) => {
  const { client, until, server } = await cluster(t);
  await client.create(pods, pod('stays', { nodeName: 'n1' }));
  await client.create(pods, pod('goes', { nodeName: 'n1', tolerations: [] }));
  const body = { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } };
  await client.patch(nodes, { name: 'n1' }, { type: 'merge', body });
  const { metadata } = await until(
    pods,
    (l) => l.list(namespace).find((each) => each.metadata.deletionTimestamp !== undefined),
    'one that goes',
  );
  const { name, deletionTimestamp, deletionGracePeriodSeconds } = metadata;
  assert.deepEqual(
    [name, deletionTimestamp, deletionGracePeriodSeconds],
    ['goes', '9999-12-31T23:59:59Z', most],
  );
  const key = { name: 'stays', namespace };
  assert.equal((await client.get(pods, key)).metadata.deletionTimestamp, undefined);

  const path = `/api/v1/namespaces/${namespace}/pods/stays`;
  assert.equal((await server.ask('DELETE', `${path}?gracePeriodSeconds=${most + 1n}`)).status, 400);
  assert.equal((await server.ask('DELETE', `${path}?gracePeriodSeconds=${most - 1n}`)).status, 200);
  assert.equal((await client.get(pods, key)).metadata.deletionGracePeriodSeconds, most - 1n);
  const before = Math.floor(Date.now() / 1000) * 1000;
  await client.delete(pods, key, { gracePeriodSeconds: 60 });
  const shorter = (await client.get(pods, key)).metadata;
  assert.equal(shorter.deletionGracePeriodSeconds, 60);
  const until60 = Date.parse(shorter.deletionTimestamp ?? '') - 60_000;
  assert.ok(until60 >= before && until60 <= Date.now(), String(shorter.deletionTimestamp));
  await client.delete(pods, key, { gracePeriodSeconds: 0 });
  await assert.rejects(client.get(pods, key), { reason: 'NotFound' });
});

test('an eviction grants the longest time that its options name', async (t) => {
  const { client, server } = await cluster(t);
  await client.create(pods, pod('evicted', { nodeName: 'n1', terminationGracePeriodSeconds: 1 }));
  const path = `/api/v1/namespaces/${namespace}/pods/evicted/eviction`;
  const deleteOptions = { gracePeriodSeconds: most };
  const metadata = { name: 'evicted', namespace };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions };
  const answer = await server.ask('POST', path, eviction);
  assert.equal(answer.status, 201, JSON.stringify(answer));
  const evicted = await client.get(pods, { name: 'evicted', namespace });
  assert.equal(evicted.metadata.deletionGracePeriodSeconds, most);
});
