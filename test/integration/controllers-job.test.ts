// Jobs through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { events, jobs, namespaces, pods, serviceaccounts } from '../../src/api/generated/resources.ts';
import type { Job } from '../../src/api/generated/types/batch-v1.ts';
import type { Pod } from '../../src/api/generated/types/core-v1.ts';
import { retryOnConflict } from '../../src/client/retry-on-conflict.ts';
import { type ControllersCluster, startCluster } from './controllers-cluster.ts';

const namespace = 'batch';
const job = (name: string, spec: object): Job =>
  ({
    metadata: { name, namespace },
    spec: {
      template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'main:1' }] } },
      ...spec,
    },
  }) as unknown as Job;

async function end({ client }: ControllersCluster, pod: Pod, phase: 'Succeeded' | 'Failed'): Promise<void> {
  await retryOnConflict(async () => {
    const fresh = await client.get(pods, { name: pod.metadata.name, namespace });
    await client.update(pods, { ...fresh, status: { ...fresh.status, phase } }, { subresource: 'status' });
  });
}
async function ready({ client }: ControllersCluster, pod: Pod): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True' }];
  await retryOnConflict(async () => {
    const fresh = await client.get(pods, { name: pod.metadata.name, namespace });
    const status = { ...fresh.status, phase: 'Running', conditions };
    await client.update(pods, { ...fresh, status }, { subresource: 'status' });
  });
}
const running = (pod: Pod): boolean =>
  pod.status?.phase !== 'Succeeded' &&
  pod.status?.phase !== 'Failed' &&
  pod.metadata.deletionTimestamp === undefined;

describe('job-controller', () => {
  it('runs indexed pods to completion and counts each once', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(jobs, job('sum', { completions: 4, parallelism: 2, completionMode: 'Indexed' }));
    for (let i = 0; i < 4; i++) {
      const pod = await until(pods, (l) => l.list(namespace).find(running), `pod ${i}`);
      assert.ok(pod.metadata.finalizers?.includes('batch.kubernetes.io/job-tracking'));
      const env = pod.spec.containers[0]?.env?.find(({ name }) => name === 'JOB_COMPLETION_INDEX');
      assert.equal(
        env?.valueFrom?.fieldRef?.fieldPath,
        "metadata.labels['batch.kubernetes.io/job-completion-index']",
      );
      await end(cluster, pod, 'Succeeded');
      await until(
        pods,
        (l) => l.get(pod.metadata.name, namespace)?.status?.phase === 'Succeeded',
        'it ended',
      );
    }
    const done = await until(
      jobs,
      (l) =>
        l.get('sum', namespace)?.status?.conditions?.some((c) => c.type === 'Complete') &&
        l.get('sum', namespace),
      'completion',
    );
    assert.deepEqual(
      [done.status?.succeeded, done.status?.failed, done.status?.completedIndexes],
      [4, undefined, '0-3'],
    );
    assert.deepEqual(
      done.status?.conditions?.map((c) => `${c.type} ${c.reason}`),
      ['SuccessCriteriaMet CompletionsReached', 'Complete CompletionsReached'],
    );
    await until(
      pods,
      (l) => l.list(namespace).every((pod) => (pod.metadata.finalizers ?? []).length === 0),
      'no finalizer',
    );
    await until(events, (l) => l.list(namespace).some((e) => e.reason === 'Completed'), 'the event');
  });

  it('gives up when too many pods failed', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(jobs, job('bad', { backoffLimit: 0 }));
    const pod = await until(pods, (l) => l.list(namespace).find(running), 'a pod');
    await end(cluster, pod, 'Failed');
    const failed = await until(
      jobs,
      (l) => l.get('bad', namespace)?.status?.conditions?.find((c) => c.type === 'Failed'),
      'failure',
    );
    assert.deepEqual(
      [failed.reason, failed.message],
      ['BackoffLimitExceeded', 'Job has reached the specified backoff limit'],
    );
  });

  it('takes its pods away while it is suspended', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(jobs, job('later', { parallelism: 2, completions: 2 }));
    await until(pods, (l) => l.list(namespace).filter(running).length === 2, 'two pods');
    for (const pod of (await client.list(pods, { namespace })).items) await ready(cluster, pod);
    await until(jobs, (l) => l.get('later', namespace)?.status?.ready === 2, 'ready pods');
    const suspend = (value: boolean): Promise<unknown> =>
      retryOnConflict(async () => {
        const fresh = await client.get(jobs, { name: 'later', namespace });
        await client.update(jobs, { ...fresh, spec: { ...fresh.spec!, suspend: value } });
      });
    await suspend(true);
    await until(
      jobs,
      (l) =>
        l
          .get('later', namespace)
          ?.status?.conditions?.find((c) => c.type === 'Suspended' && c.status === 'True'),
      'suspension',
    );
    await until(pods, (l) => l.list(namespace).filter(running).length === 0, 'no pods');
    // Somebody gave it a start all the same: it begins anew.
    await retryOnConflict(async () => {
      const fresh = await client.get(jobs, { name: 'later', namespace });
      const status = { ...fresh.status, startTime: '2026-01-01T00:00:00Z' };
      await client.update(jobs, { ...fresh, status }, { subresource: 'status' });
    });
    await suspend(false);
    await until(pods, (l) => l.list(namespace).filter(running).length === 2, 'two pods again');
    const isResumed = (c: { readonly type: string; readonly status: string }): boolean =>
      c.type === 'Suspended' && c.status === 'False';
    await until(jobs, (l) => l.get('later', namespace)?.status?.conditions?.some(isResumed), 'resumption');
    const { status } = await client.get(jobs, { name: 'later', namespace });
    assert.equal(status?.failed, undefined);
    assert.notEqual(status?.startTime, '2026-01-01T00:00:00Z');
  });

  it('fails also while it is suspended, with a time of its start', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await until(serviceaccounts, (l) => l.get('default', namespace), 'its service account');
    const { metadata, spec } = await client.create(jobs, job('held', { suspend: true, backoffLimit: 0 }));
    const ownerReferences = [
      { apiVersion: 'batch/v1', kind: 'Job', name: 'held', uid: metadata.uid!, controller: true },
    ];
    const finalizers = ['batch.kubernetes.io/job-tracking'];
    const { labels } = spec.template.metadata!;
    // One that ran would be taken away at once: it becomes the Job's when it has ended.
    const pod = await client.create(pods, {
      metadata: { name: 'left', namespace, finalizers },
      spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
    } as unknown as Pod);
    await end(cluster, pod, 'Failed');
    await retryOnConflict(async () => {
      const fresh = await client.get(pods, { name: 'left', namespace });
      await client.update(pods, {
        ...fresh,
        metadata: { ...fresh.metadata, labels, ownerReferences },
      } as Pod);
    });
    const failed = (c: { readonly type: string }): boolean => c.type === 'Failed';
    const over = await until(
      jobs,
      (l) => {
        const held = l.get('held', namespace);
        return held?.status?.conditions?.some(failed) && held;
      },
      'failure',
    );
    assert.match(over.status?.startTime ?? '', /^2/);
  });

  it('the pods of a deleted job go, and its namespace too, without any kubelet', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(jobs, job('cut', { parallelism: 3, completions: 3 }));
    await until(pods, (l) => l.list(namespace).filter(running).length === 3, 'three pods');
    await client.delete(jobs, { name: 'cut', namespace }, { propagationPolicy: 'Background' });
    await until(pods, (l) => l.list(namespace).length === 0, 'no pods');
    await client.create(jobs, job('kept', { parallelism: 2, completions: 2 }));
    await until(pods, (l) => l.list(namespace).filter(running).length === 2, 'two pods');
    await client.delete(namespaces, { name: namespace });
    await until(namespaces, (l) => l.get(namespace) === undefined, 'no namespace');
  });

  it('pods that a job left behind are let go: of a job gone long ago, of another of its name, and without an owner', async (t) => {
    const cluster = await startCluster(t);
    const { client, until } = cluster;
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await until(serviceaccounts, (l) => l.get('default', namespace), 'its service account');
    await client.create(jobs, job('again', { suspend: true }));
    const held = (name: string, of: string, owned: boolean): Promise<Pod> =>
      client.create(pods, {
        metadata: {
          name,
          namespace,
          finalizers: ['batch.kubernetes.io/job-tracking'],
          labels: { 'batch.kubernetes.io/job-name': of },
          ...(owned
            ? {
                ownerReferences: [
                  { apiVersion: 'batch/v1', kind: 'Job', name: of, uid: 'of-another-time', controller: true },
                ],
              }
            : {}),
        },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      } as unknown as Pod);
    await held('gone-owner', 'gone', true);
    await held('renewed-owner', 'again', true);
    await held('no-owner', 'gone', false);
    await until(
      pods,
      (l) => l.list(namespace).every((pod) => (pod.metadata.finalizers ?? []).length === 0),
      'no finalizer',
    );
    // The collector takes those whose owner is gone; the other is nobody's and stays.
    await until(pods, (l) => l.list(namespace).length === 1 && l.get('no-owner', namespace), 'one pod');
  });
});
