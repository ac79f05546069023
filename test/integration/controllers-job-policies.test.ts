// Jobs with policies for failure and success, through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { jobs, namespaces, pods } from '../../src/api/generated/resources.ts';
import type { Job, JobCondition } from '../../src/api/generated/types/batch-v1.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const namespace = 'batch';
const indexed = (name: string, spec: object): Job =>
  ({
    metadata: { name, namespace },
    spec: {
      completionMode: 'Indexed',
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main:1' }] } },
      ...spec,
    },
  }) as unknown as Job;
const indexLabel = 'batch.kubernetes.io/job-completion-index';
const podOf = ({ until }: ControllersCluster, index: number): Promise<Pod> =>
  until(
    pods,
    (l) =>
      l
        .list(namespace)
        .find(
          (pod) => pod.metadata.labels?.[indexLabel] === String(index) && pod.status?.phase === 'Pending',
        ),
    `the pod of index ${index}`,
  );
const end = async ({ client }: ControllersCluster, pod: Pod, exitCode: number): Promise<void> => {
  const terminated = { exitCode, reason: 'x' };
  const containerStatuses = [
    { name: 'main', image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } },
  ];
  const body = { status: { phase: exitCode === 0 ? 'Succeeded' : 'Failed', containerStatuses } };
  await client.patch(pods, pod.metadata, { type: 'strategic', body }, { subresource: 'status' });
};
const ended = ({ until }: ControllersCluster, name: string): Promise<JobCondition> =>
  until(
    jobs,
    (l) =>
      l
        .get(name, namespace)
        ?.status?.conditions?.find(({ type }) => type === 'Failed' || type === 'Complete'),
    'the end',
  );

describe('job-controller, policies', () => {
  it('gives up an index after its own limit, and fails when the rest is done', async (t) => {
    const cluster = await startCluster(t);
    await cluster.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await cluster.client.create(
      jobs,
      indexed('j', { completions: 2, parallelism: 2, backoffLimitPerIndex: 0 }),
    );
    await end(cluster, await podOf(cluster, 0), 1);
    await end(cluster, await podOf(cluster, 1), 0);
    const { type, reason, message } = await ended(cluster, 'j');
    assert.deepEqual([type, reason, message], ['Failed', 'FailedIndexes', 'Job has failed indexes']);
    const { status } = await cluster.client.get(jobs, { name: 'j', namespace });
    assert.deepEqual([status?.failedIndexes, status?.completedIndexes], ['0', '1']);
  });

  it('fails at once by an exit code, and succeeds early by a rule', async (t) => {
    const cluster = await startCluster(t);
    await cluster.client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const onExitCodes = { operator: 'In', values: [42] };
    await cluster.client.create(
      jobs,
      indexed('fails', {
        completions: 2,
        parallelism: 1,
        podFailurePolicy: { rules: [{ action: 'FailJob', onExitCodes }] },
      }),
    );
    await end(cluster, await podOf(cluster, 0), 42);
    assert.equal((await ended(cluster, 'fails')).reason, 'PodFailurePolicy');
    await cluster.client.create(
      jobs,
      indexed('wins', {
        completions: 3,
        parallelism: 3,
        successPolicy: { rules: [{ succeededIndexes: '1' }] },
      }),
    );
    await end(cluster, await podOf(cluster, 1), 0);
    await cluster.until(
      jobs,
      (l) =>
        l
          .get('wins', namespace)
          ?.status?.conditions?.some((c) => c.type === 'SuccessCriteriaMet' && c.reason === 'SuccessPolicy'),
      'success',
    );
  });

  it('tries an index again with its count, and counts the pod before only then', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(jobs, indexed('again', { completions: 1, parallelism: 1, backoffLimitPerIndex: 3 }));
    const first = await podOf(cluster, 0);
    // It ended some time ago: the wait is over.
    const terminated = { exitCode: 1, reason: 'x', finishedAt: '2026-01-01T00:00:00Z' };
    const containerStatuses = [
      { name: 'main', image: 'i', imageID: '', ready: false, restartCount: 0, state: { terminated } },
    ];
    const body = { status: { phase: 'Failed', containerStatuses } };
    await client.patch(pods, first.metadata, { type: 'strategic', body }, { subresource: 'status' });
    const second = await podOf(cluster, 0);
    assert.match(second.metadata.name, /^again-0-[a-z0-9]{5}$/);
    assert.equal(second.metadata.annotations?.['batch.kubernetes.io/job-index-failure-count'], '1');
    await until(jobs, (l) => l.get('again', namespace)?.status?.failed === 1, 'the first is counted');
    await until(
      pods,
      (l) => (l.get(first.metadata.name, namespace)?.metadata.finalizers ?? []).length === 0,
      'and let go',
    );
  });

  it('pods that still run when their job fails have failed with it', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    const onExitCodes = { operator: 'In', values: [42] };
    const podFailurePolicy = { rules: [{ action: 'FailJob', onExitCodes }] };
    await client.create(jobs, indexed('all', { completions: 3, parallelism: 3, podFailurePolicy }));
    const [first] = [await podOf(cluster, 0), await podOf(cluster, 1), await podOf(cluster, 2)];
    await end(cluster, first, 42);
    await until(
      jobs,
      (l) => {
        const { failed, active = 0, uncountedTerminatedPods } = l.get('all', namespace)?.status ?? {};
        return failed === 3 && active === 0 && (uncountedTerminatedPods?.failed ?? []).length === 0;
      },
      'three failures',
    );
  });
});
