// Jobs and CronJobs.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  immutable,
  nonNegative,
  oneOf,
  selects,
  unchanged,
} from '../../../apimachinery/validation/checks.ts';
import { validateTemplate } from '../../core/v1/validate-workload.ts';
import type { CronJob, Job, JobSpec } from '../../generated/types/batch-v1.ts';
import { cronScheduleError } from './cron-schedule.ts';

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

function jobSpecErrors(s: Decoded<JobSpec>, at: string): Errors {
  const errors: Errors = counts.flatMap((name) => nonNegative(`${at}.${name}`, s[name]));
  if (s.completionMode === 'Indexed' && s.completions === undefined)
    errors.push(required(`${at}.completions`, 'when completion mode is Indexed'));
  if (s.completionMode !== undefined)
    errors.push(...oneOf(`${at}.completionMode`, s.completionMode, ['Indexed', 'NonIndexed']));
  const template = s.template ?? {};
  errors.push(...validateTemplate(template, `${at}.template`));
  const policy = template.spec?.restartPolicy ?? '';
  if (policy === '' || policy === 'Always')
    errors.push(required(`${at}.template.spec.restartPolicy`, 'valid values: "OnFailure", "Never"'));
  else if (policy !== 'OnFailure' && policy !== 'Never')
    errors.push(notSupported(`${at}.template.spec.restartPolicy`, policy, ['OnFailure', 'Never']));
  else if (s.podFailurePolicy !== undefined && policy !== 'Never')
    errors.push(
      invalid(
        `${at}.template.spec.restartPolicy`,
        policy,
        'only "Never" is supported when podFailurePolicy is specified',
      ),
    );
  return errors;
}

export function validateJob(job: Decoded<Job>): Errors {
  const s = job.spec ?? {};
  const errors = jobSpecErrors(s, 'spec');
  if (s.selector === undefined && s.manualSelector === true) errors.push(required('spec.selector'));
  const labels = s.template?.metadata?.labels;
  if (s.selector !== undefined && selects(s.selector, labels) === false)
    errors.push(
      invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'),
    );
  return errors;
}

export function validateJobUpdate(job: Decoded<Job>, old: Decoded<Job>): Errors {
  const [s, before] = [job.spec ?? {}, old.spec ?? {}];
  const errors: Errors = [];
  if (!semanticEqual(s.completions, before.completions) && s.completionMode !== 'Indexed')
    errors.push(invalid('spec.completions', s.completions ?? null, immutable));
  for (const field of [
    'selector',
    'completionMode',
    'podFailurePolicy',
    'backoffLimitPerIndex',
    'managedBy',
    'successPolicy',
  ] as const)
    errors.push(...unchanged(`spec.${field}`, s[field], before[field]));
  // The place of pods may change while a job that never ran is suspended.
  const suspended = before.suspend === true && !old.status?.startTime;
  if (!suspended && !semanticEqual(s.template, before.template))
    errors.push(invalid('spec.template', s.template ?? null, immutable));
  return errors;
}

const maxCronJobName = 52;

export function validateCronJob(cronJob: Decoded<CronJob>): Errors {
  const s = cronJob.spec ?? {};
  const errors: Errors = [];
  const schedule = s.schedule ?? '';
  if (schedule === '') errors.push(required('spec.schedule'));
  else {
    const wrong = cronScheduleError(schedule);
    if (wrong !== undefined) errors.push(invalid('spec.schedule', schedule, wrong));
    if (/TZ/.test(schedule))
      errors.push(
        invalid(
          'spec.schedule',
          schedule,
          'cannot use TZ or CRON_TZ in schedule, use timeZone field instead',
        ),
      );
  }
  errors.push(...oneOf('spec.concurrencyPolicy', s.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']));
  for (const field of [
    'startingDeadlineSeconds',
    'successfulJobsHistoryLimit',
    'failedJobsHistoryLimit',
  ] as const)
    errors.push(...nonNegative(`spec.${field}`, s[field]));
  if (typeof s.timeZone === 'string') errors.push(...timeZoneErrors(s.timeZone));
  errors.push(...jobSpecErrors(s.jobTemplate?.spec ?? {}, 'spec.jobTemplate.spec'));
  if ((cronJob.metadata?.name ?? '').length > maxCronJobName)
    errors.push(
      invalid(
        'metadata.name',
        cronJob.metadata?.name ?? '',
        `must be no more than ${maxCronJobName} characters`,
      ),
    );
  return errors;
}

function timeZoneErrors(zone: string): Errors {
  const field = 'spec.timeZone';
  if (zone === '') return [invalid(field, zone, 'timeZone must be nil or non-empty string')];
  if (zone.toLowerCase() === 'local')
    return [
      invalid(
        field,
        zone,
        'timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones',
      ),
    ];
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return [];
  } catch {
    return [invalid(field, zone, `unknown time zone ${zone}`)];
  }
}
