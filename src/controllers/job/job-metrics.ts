// What the job controller tells of jobs and their pods, by upstream's names.
import type { Job, JobCondition, JobStatus } from '../../api/generated/types/batch-v1.ts';
import { declareMetrics, exponentialBuckets, type MetricsRegistry } from '../../component-base/metrics.ts';
import { isIndexed } from './job-pod.ts';

/** What a sync did, beyond counting: upstream's names. */
export type SyncAction = 'reconciling' | 'tracking' | 'pods_created' | 'pods_deleted';

const declared = declareMetrics((metrics) => ({
  syncs: metrics.counter('job_controller_job_syncs_total', 'The number of job syncs', [
    'completion_mode',
    'result',
    'action',
  ]),
  syncDuration: metrics.histogram(
    'job_controller_job_sync_duration_seconds',
    'The time it took to sync a job',
    ['completion_mode', 'result', 'action'],
    exponentialBuckets(0.004, 2, 15),
  ),
  jobsFinished: metrics.counter('job_controller_jobs_finished_total', 'The number of finished jobs', [
    'completion_mode',
    'result',
    'reason',
  ]),
  podsFinished: metrics.counter(
    'job_controller_job_pods_finished_total',
    'The number of finished Pods that are fully tracked',
    ['completion_mode', 'result'],
  ),
}));

const modeOf = (job: Job): string => (isIndexed(job) ? 'Indexed' : 'NonIndexed');

export function jobSynced(
  metrics: MetricsRegistry,
  job: Job,
  { action, seconds, failed }: { readonly action: SyncAction; seconds: number; failed: boolean },
): void {
  const { syncDuration, syncs } = declared(metrics);
  const of = { completion_mode: modeOf(job), result: failed ? 'error' : 'success', action };
  syncs.inc(of);
  syncDuration.observe(of, seconds);
}

/** Its end was written down. */
export const jobFinished = (metrics: MetricsRegistry, job: Job, { type, reason = '' }: JobCondition): void =>
  declared(metrics).jobsFinished.inc({
    completion_mode: modeOf(job),
    result: type === 'Complete' ? 'succeeded' : 'failed',
    reason,
  });

/** A status was written in the place of the one that `job` has. */
export function podsCounted(metrics: MetricsRegistry, job: Job, after: JobStatus): void {
  for (const result of ['succeeded', 'failed'] as const) {
    const more = (after[result] ?? 0) - (job.status?.[result] ?? 0);
    if (more > 0) declared(metrics).podsFinished.inc({ completion_mode: modeOf(job), result }, more);
  }
}
