// The kinds of batch/v1: Job and CronJob.
import type { Json } from '../../../apimachinery/declaration.ts';
import { type Decoded, ensured } from '../../../apimachinery/decoded.ts';
import { ageOf, humanDuration } from '../../../apimachinery/human-duration.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { podTemplateDefaults } from '../../core/v1/pod-defaults.ts';
import type { CronJob, Job } from '../../generated/types/batch-v1.ts';
import { ageCell, containerCells, nameCell, orNone, selectorCell } from '../../meta/row-cells.ts';
import { cronJobWarnings, jobWarnings } from './job-warnings.ts';
import { validateCronJob, validateCronJobUpdate, validateJob, validateJobUpdate } from './validate-jobs.ts';

function completions(job: Decoded<Job>): string {
  const succeeded = job.status?.succeeded ?? 0;
  const wanted = job.spec?.completions;
  if (typeof wanted === 'number') return `${succeeded}/${wanted}`;
  const parallelism = job.spec?.parallelism ?? 0;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function duration(job: Decoded<Job>, now: number): string {
  const start = job.status?.startTime ?? '';
  if (start === '') return '';
  const end = job.status?.completionTime ?? '';
  return humanDuration((end === '' ? now : Date.parse(end)) - Date.parse(start));
}

function jobStatus(job: Decoded<Job>): string {
  const has = (type: string): boolean =>
    (job.status?.conditions ?? []).some((c) => c.type === type && c.status === 'True');
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (job.metadata?.deletionTimestamp) return 'Terminating';
  if (has('Suspended')) return 'Suspended';
  if (has('FailureTarget')) return 'FailureTarget';
  if (has('SuccessCriteriaMet')) return 'SuccessCriteriaMet';
  return 'Running';
}

const jobRow = (o: Decoded<Job>, now: number): Json[] => [
  nameCell(o),
  jobStatus(o),
  completions(o),
  duration(o, now),
  ageCell(o, now),
  ...containerCells(o.spec?.template),
  selectorCell(o.spec?.selector),
];

function labelAsTemplate(job: Decoded<Job>): void {
  const labels = job.spec?.template?.metadata?.labels ?? {};
  if (Object.keys(labels).length > 0 && Object.keys(job.metadata?.labels ?? {}).length === 0)
    ensured(job, 'metadata').labels = { ...labels };
}

/** Defaults of a Job's spec; templates of CronJobs get only those of their pods. */
function jobDefaults(job: Decoded<Job>): void {
  const s = ensured(job, 'spec');
  if (s.completions === undefined && s.parallelism === undefined) {
    s.completions = 1;
    s.parallelism = 1;
  }
  s.parallelism ??= 1;
  // With an index, each index has its own limit and the whole has none.
  s.backoffLimit ??= s.backoffLimitPerIndex === undefined ? 6 : 2147483647;
  labelAsTemplate(job);
  s.completionMode ??= 'NonIndexed';
  s.suspend ??= false;
  s.podReplacementPolicy ??= s.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed';
  s.manualSelector ??= false;
  for (const rule of s.podFailurePolicy?.rules ?? [])
    for (const pattern of rule.onPodConditions ?? []) if (!pattern.status) pattern.status = 'True';
  podTemplateDefaults(s.template);
}

/** As upstream's generateSelector: the job's own labels select its pods. */
function generateSelector(job: Decoded<Job>): void {
  const s = job.spec ?? {};
  if (s.manualSelector === true) return;
  const uid = job.metadata?.uid ?? '';
  if (uid === '') return;
  const labels = ensured(ensured(ensured(s, 'template'), 'metadata'), 'labels');
  const set = (key: string, value: string): void => {
    labels[key] ??= value;
  };
  set('batch.kubernetes.io/controller-uid', uid);
  set('batch.kubernetes.io/job-name', job.metadata?.name ?? '');
  set('controller-uid', uid);
  set('job-name', job.metadata?.name ?? '');
  const selector = ensured(s, 'selector');
  const match = ensured(selector, 'matchLabels');
  match['batch.kubernetes.io/controller-uid'] ??= uid;
}

const job: KindBehaviour<Job> = {
  hasGeneration: true,
  ownUpdateRules: true,
  row: jobRow,
  selectableFields: (o) => ({ 'status.successful': String(o.status?.succeeded ?? 0) }),
  strategy: {
    applyDefaults: jobDefaults,
    prepareForCreate(job) {
      generateSelector(job);
      // Upstream sets defaults again when it reads what it has stored: a Job without labels has these, too.
      labelAsTemplate(job);
    },
    validate: validateJob,
    validateUpdate: (job, old, { subresource }) => validateJobUpdate(job, old, subresource),
    warnings: jobWarnings,
    defaultGarbageCollection: 'orphan',
  },
};

const cronJob: KindBehaviour<CronJob> = {
  hasGeneration: true,
  ownUpdateRules: true,
  row: (o, now) => {
    const s = o.spec ?? {};
    const template = s.jobTemplate?.spec?.template;
    const last = o.status?.lastScheduleTime ?? '';
    return [
      nameCell(o),
      s.schedule ?? '',
      orNone(s.timeZone ?? ''),
      s.suspend === true ? 'True' : 'False',
      (o.status?.active ?? []).length,
      last === '' ? '<none>' : ageOf(last, now),
      ageCell(o, now),
      ...containerCells(template),
      selectorCell(s.jobTemplate?.spec?.selector),
    ];
  },
  strategy: {
    validate: validateCronJob,
    warnings: cronJobWarnings,
    validateUpdate: (cronJob, old, { subresource }) =>
      subresource === 'status' ? [] : validateCronJobUpdate(cronJob, old),
    applyDefaults(o) {
      const s = ensured(o, 'spec');
      if (!s.concurrencyPolicy) s.concurrencyPolicy = 'Allow';
      s.suspend ??= false;
      s.successfulJobsHistoryLimit ??= 3;
      s.failedJobsHistoryLimit ??= 1;
      podTemplateDefaults(s.jobTemplate?.spec?.template);
    },
  },
};

export const batchV1: GroupBehaviours<{ cronjobs: CronJob; jobs: Job }> = { cronjobs: cronJob, jobs: job };
