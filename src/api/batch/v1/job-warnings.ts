// What is said of jobs that are taken, and of the pods that they make.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { isSameGeneration, podTemplateWarnings, workloadNameWarnings } from '../../core/v1/pod-warnings.ts';
import type { CronJob, Job, JobSpec } from '../../generated/types/batch-v1.ts';

const manyCompletions = 100_000;
const manyAtOnce = 10_000;

function specWarnings(spec: Decoded<JobSpec>, at: string): string[] {
  const { completionMode, completions = 0, parallelism = 0, template } = spec;
  return [
    ...(completionMode === 'Indexed' && completions > manyCompletions && parallelism > manyAtOnce
      ? [
          `${at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`,
        ]
      : []),
    ...podTemplateWarnings(template, `${at}.template`),
  ];
}

export function jobWarnings(job: Decoded<Job>, old: Decoded<Job> | undefined): string[] {
  if (old !== undefined && isSameGeneration(job, old)) return [];
  return [
    ...(old === undefined ? workloadNameWarnings(job.metadata?.name) : []),
    ...specWarnings(job.spec ?? {}, 'spec'),
  ];
}

export function cronJobWarnings(cronJob: Decoded<CronJob>, old: Decoded<CronJob> | undefined): string[] {
  if (old !== undefined && isSameGeneration(cronJob, old)) return [];
  return [
    ...(old === undefined ? workloadNameWarnings(cronJob.metadata?.name) : []),
    ...specWarnings(cronJob.spec?.jobTemplate?.spec ?? {}, 'spec.jobTemplate.spec'),
    ...(cronJob.spec?.schedule?.includes('TZ')
      ? [
          'CRON_TZ or TZ used in spec.schedule is not officially supported, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
        ]
      : []),
  ];
}
