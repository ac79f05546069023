// CronJobs through the real API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cronjobs, jobs, namespaces } from '../../src/api/generated/resources.ts';
import type { CronJob, Job } from '../../src/api/generated/types/batch-v1.ts';
import { readExposition, sampleOf } from '../harness/exposition.ts';
import { startCluster } from './controllers-cluster.ts';

const namespace = 'night';
const template = { spec: { containers: [{ name: 'c', image: 'i' }], restartPolicy: 'Never' } };

describe('cronjob-controller', () => {
  it('starts what is due, notices its end, keeps a short history', async (t) => {
    const { client, server, until } = await startCluster(t, { disabled: ['job-controller'] });
    await client.create(namespaces, { metadata: { name: namespace }, spec: {} });
    await client.create(cronjobs, {
      metadata: { name: 'c', namespace },
      spec: {
        schedule: '@every 1s',
        successfulJobsHistoryLimit: 0,
        concurrencyPolicy: 'Forbid',
        timeZone: 'Europe/Berlin',
        jobTemplate: { metadata: { labels: { app: 'c' } } as never, spec: { template: template as never } },
      },
    });
    const job: Job = await until(jobs, (l) => l.list(namespace)[0], 'a job');
    assert.match(job.metadata.name, /^c-\d+$/);
    assert.equal(job.metadata.labels?.['app'], 'c');
    assert.match(
      job.metadata.annotations?.['batch.kubernetes.io/cronjob-scheduled-timestamp'] ?? '',
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+0[12]:00$/,
    );
    const cronJob: CronJob = await until(
      cronjobs,
      (l) => l.get('c', namespace)?.status?.active?.length === 1 && l.get('c', namespace),
      'an active job',
    );
    assert.equal(cronJob.status?.active?.[0]?.name, job.metadata.name);
    assert.ok(cronJob.status?.lastScheduleTime !== undefined);
    await client.patch(
      cronjobs,
      { name: 'c', namespace },
      { type: 'merge', body: { spec: { suspend: true } } },
    );
    const time = '2026-01-01T00:00:00Z';
    const ended = (type: string): object => ({
      type,
      status: 'True',
      lastProbeTime: time,
      lastTransitionTime: time,
    });
    await client.patch(
      jobs,
      job.metadata,
      {
        type: 'merge',
        body: {
          status: {
            startTime: time,
            completionTime: time,
            succeeded: 1,
            conditions: [ended('SuccessCriteriaMet'), ended('Complete')],
          },
        },
      },
      { subresource: 'status' },
    );
    const families = readExposition((await server.metrics.text()).text);
    const skew = 'cronjob_controller_job_creation_skew_duration_seconds';
    assert.ok((sampleOf(families, `${skew}_count`) ?? 0) >= 1);
    const late = (sampleOf(families, `${skew}_sum`) ?? 0) / (sampleOf(families, `${skew}_count`) ?? 1);
    assert.ok(late > 0 && late < 120, `${late} s after it was due`);
    await until(jobs, (l) => l.get(job.metadata.name, namespace) === undefined, 'no history');
    await until(
      cronjobs,
      (l) => {
        const status = l.get('c', namespace)?.status;
        return status?.active === undefined && status?.lastSuccessfulTime === time;
      },
      'the status',
    );
  });
});
