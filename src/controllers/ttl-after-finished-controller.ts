// Deletes finished jobs when their time to live is over.
import { jobs } from '../api/generated/resources.ts';
import type { Job } from '../api/generated/types/batch-v1.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { declareMetrics, exponentialBuckets } from '../component-base/metrics.ts';
import { may } from '../controller-runtime/access.ts';
import { type Controller, defineController } from '../controller-runtime/define-controller.ts';

/** Milliseconds since the epoch; undefined for a job that stays. */
function expiresAt(job: Job): number | undefined {
  const ttl = job.spec?.ttlSecondsAfterFinished;
  const finished = job.status?.conditions?.find(
    (condition) =>
      (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True',
  );
  const at = Date.parse(finished?.lastTransitionTime ?? '');
  return ttl === undefined || Number.isNaN(at) ? undefined : at + ttl * 1000;
}

const deletionDelay = declareMetrics((metrics) =>
  metrics.histogram(
    'ttl_after_finished_controller_job_deletion_duration_seconds',
    'The time it took to delete the job since it became eligible for deletion',
    [],
    exponentialBuckets(0.1, 2, 14),
  ),
);

export const ttlAfterFinishedController: Controller = defineController({
  name: 'ttl-after-finished-controller',
  queue: 'ttl_jobs_to_delete',
  serviceAccount: 'ttl-after-finished-controller',
  for: jobs,
  access: [may(['delete', 'get'], jobs)],
  async reconcile({ name, namespace }, context) {
    const job = context.read(jobs).get(name, namespace);
    const at = job === undefined || job.metadata.deletionTimestamp !== undefined ? undefined : expiresAt(job);
    if (job === undefined || at === undefined) return undefined;
    const wait = at - context.clock.now();
    if (wait > 0) return { requeueAfterMs: wait };
    try {
      // The time to live may just have been made longer.
      const fresh = await context.write.get(jobs, { name, namespace });
      const again = expiresAt(fresh);
      if (again === undefined || again > context.clock.now()) return undefined;
      const { uid, resourceVersion } = fresh.metadata;
      const preconditions = { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) };
      await context.write.delete(
        jobs,
        { name, namespace },
        { propagationPolicy: 'Foreground', preconditions },
      );
      deletionDelay(context.metrics).observe({}, (context.clock.now() - again) / 1000);
    } catch (error) {
      if (!isStatusError(error, 'NotFound')) throw error;
    }
    return undefined;
  },
});
