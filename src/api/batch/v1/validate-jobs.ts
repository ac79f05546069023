// Jobs and CronJobs.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { invalid, notSupported, required, tooLong } from '../../../apimachinery/field-error.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import {
  domainPrefixedPath,
  immutable,
  labelSelector,
  newErrors,
  nonNegative,
  oneOf,
  selects,
  unchanged,
} from '../../../apimachinery/validation/checks.ts';
import { dnsLabel } from '../../../apimachinery/validation/names.ts';
import { validateTemplate } from '../../core/v1/validate-workload.ts';
import type { CronJob, CronJobSpec, Job, JobSpec } from '../../generated/types/batch-v1.ts';
import type { Container, PodTemplateSpec } from '../../generated/types/core-v1.ts';
import { cronScheduleError } from './cron-schedule.ts';
import { validateFailurePolicy, validateSuccessPolicy } from './validate-job-policies.ts';
import { validateJobStatus } from './validate-job-status.ts';

const counts = [
  'parallelism',
  'completions',
  'activeDeadlineSeconds',
  'backoffLimit',
  'ttlSecondsAfterFinished',
  'backoffLimitPerIndex',
  'maxFailedIndexes',
] as const;

const maxIndexedParallelism = 100_000;
const maxFailedIndexes = 100_000;
/** Beyond so many indexes, each with a limit of its own, the rest must be smaller. */
const manyCompletions = 100_000;
const maxParallelismOfMany = 10_000;
const maxFailedIndexesOfMany = 10_000;
const maxManagedBy = 63;

function indexedErrors(s: Decoded<JobSpec>, at: string): Errors {
  const { completions, parallelism = 0, maxFailedIndexes: failed = 0 } = s;
  const errors: Errors = [];
  const atMost = (field: 'maxFailedIndexes' | 'parallelism', limit: number, when: string): void => {
    if ((s[field] ?? 0) > limit)
      errors.push(invalid(`${at}.${field}`, s[field], `must be less than or equal to ${limit}${when}`));
  };
  if (completions === undefined)
    errors.push(required(`${at}.completions`, 'when completion mode is Indexed'));
  atMost('parallelism', maxIndexedParallelism, ' when completion mode is Indexed');
  if (completions !== undefined && failed > completions)
    errors.push(invalid(`${at}.maxFailedIndexes`, failed, 'must be less than or equal to completions'));
  atMost('maxFailedIndexes', maxFailedIndexes, '');
  if ((completions ?? 0) <= manyCompletions || s.backoffLimitPerIndex === undefined) return errors;
  const when = ` when completions are above ${manyCompletions} and used with backoff limit per index`;
  if (s.maxFailedIndexes === undefined)
    errors.push(
      required(`${at}.maxFailedIndexes`, `must be specified when completions is above ${manyCompletions}`),
    );
  if (parallelism > maxParallelismOfMany) atMost('parallelism', maxParallelismOfMany, when);
  atMost('maxFailedIndexes', maxFailedIndexesOfMany, when);
  return errors;
}

function completionErrors(s: Decoded<JobSpec>, at: string): Errors {
  const mode = s.completionMode ?? 'NonIndexed';
  const errors: Errors = oneOf(`${at}.completionMode`, mode, ['Indexed', 'NonIndexed']);
  if (mode === 'Indexed') errors.push(...indexedErrors(s, at));
  if (mode === 'NonIndexed')
    for (const field of ['backoffLimitPerIndex', 'maxFailedIndexes'] as const)
      if (s[field] !== undefined)
        errors.push(invalid(`${at}.${field}`, s[field], 'requires indexed completion mode'));
  if (s.podFailurePolicy !== undefined) errors.push(...validateFailurePolicy(s, `${at}.podFailurePolicy`));
  if (s.successPolicy !== undefined)
    errors.push(
      ...(mode === 'Indexed'
        ? validateSuccessPolicy(s, `${at}.successPolicy`)
        : [invalid(`${at}.successPolicy`, s.successPolicy, 'requires indexed completion mode')]),
    );
  if (s.podReplacementPolicy !== undefined)
    errors.push(
      ...oneOf(
        `${at}.podReplacementPolicy`,
        s.podReplacementPolicy,
        s.podFailurePolicy === undefined ? ['Failed', 'TerminatingOrFailed'] : ['Failed'],
      ),
    );
  return errors;
}

function restartErrors(s: Decoded<JobSpec>, field: string): Errors {
  const policy = s.template?.spec?.restartPolicy ?? '';
  if (policy === '' || policy === 'Always') return [required(field, 'valid values: "OnFailure", "Never"')];
  if (policy !== 'OnFailure' && policy !== 'Never')
    return [notSupported(field, policy, ['OnFailure', 'Never'])];
  return s.podFailurePolicy !== undefined && policy !== 'Never'
    ? [invalid(field, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    : [];
}

function jobSpecErrors(s: Decoded<JobSpec>, at: string): Errors {
  const errors: Errors = counts.flatMap((name) => nonNegative(`${at}.${name}`, s[name]));
  if (s.maxFailedIndexes !== undefined && s.backoffLimitPerIndex === undefined)
    errors.push(required(`${at}.backoffLimitPerIndex`, 'when maxFailedIndexes is specified'));
  if (s.managedBy !== undefined) {
    errors.push(...domainPrefixedPath(`${at}.managedBy`, s.managedBy));
    if (s.managedBy.length > maxManagedBy) errors.push(tooLong(`${at}.managedBy`, maxManagedBy));
  }
  errors.push(
    ...completionErrors(s, at),
    ...validateTemplate(s.template ?? {}, `${at}.template`),
    ...restartErrors(s, `${at}.template.spec.restartPolicy`),
  );
  return errors;
}

/** What a Job says whenever it is written. */
function ownSpecErrors(job: Decoded<Job>): Errors {
  const s = job.spec ?? {};
  const errors = jobSpecErrors(s, 'spec');
  if (s.selector === undefined) return [...errors, required('spec.selector')];
  errors.push(...labelSelector('spec.selector', s.selector));
  const labels = s.template?.metadata?.labels;
  if (selects(s.selector, labels) === false)
    errors.push(
      invalid('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`'),
    );
  return errors;
}

/** Unless its author manages them, a Job's selector and the labels of its pods are the server's. */
function generatedErrors(job: Decoded<Job>): Errors {
  const { manualSelector, selector, template } = job.spec ?? {};
  if (manualSelector === true || selector === undefined) return [];
  const uid = job.metadata?.uid ?? '';
  const name = job.metadata?.name ?? '';
  const expected: Readonly<Record<string, string>> = {
    'controller-uid': uid,
    'job-name': name,
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
  };
  const labels = template?.metadata?.labels ?? {};
  const errors: Errors = uid === '' ? [required('metadata.uid')] : [];
  for (const [key, value] of Object.entries(expected)) {
    const field = `spec.template.metadata.labels[${key}]`;
    if (labels[key] === undefined) errors.push(required(field, `must be '${value}'`));
    else if (labels[key] !== value) errors.push(invalid(field, labels, `must be '${value}'`));
  }
  if (selects(selector, expected) === false)
    errors.push(invalid('spec.selector', selector, '`selector` not auto-generated'));
  return errors;
}

export function validateJob(job: Decoded<Job>): Errors {
  const errors = [...generatedErrors(job), ...ownSpecErrors(job)];
  const { completionMode, completions = 0 } = job.spec ?? {};
  if (completionMode !== 'Indexed' || completions <= 0) return errors;
  // The hostnames of the pods end with their index.
  const name = job.metadata?.name ?? '';
  const last = `${name}-${completions - 1}`;
  if (dnsLabel(last).length > 0)
    errors.push(
      invalid('metadata.name', name, `will not able to create pod with invalid DNS label: ${last}`),
    );
  return errors;
}

export function validateJobUpdate(job: Decoded<Job>, old: Decoded<Job>, subresource: string): Errors {
  if (subresource === 'status') return validateJobStatus(job, old);
  const [s, before] = [job.spec ?? {}, old.spec ?? {}];
  return [
    ...newErrors(ownSpecErrors(job), () => ownSpecErrors(old)),
    ...completionsChange(s, before),
    ...unchanged('spec.selector', s.selector, before.selector),
    ...templateChange(s, old),
    ...kept.flatMap((field) => unchanged(`spec.${field}`, s[field], before[field])),
  ];
}
const kept = [
  'completionMode',
  'podFailurePolicy',
  'backoffLimitPerIndex',
  'managedBy',
  'successPolicy',
] as const;

/** A Job with indexes grows and shrinks as a whole. */
function completionsChange(s: Decoded<JobSpec>, before: Decoded<JobSpec>): Errors {
  const field = 'spec.completions';
  if (s.completionMode !== 'Indexed') return unchanged(field, s.completions, before.completions);
  const changed = s.completions !== undefined && s.completions !== before.completions;
  return changed && s.completions !== s.parallelism
    ? [invalid(field, s.completions, 'can only be modified in tandem with spec.parallelism')]
    : [];
}

/** Nothing of it runs: it never did, or its controller has stopped all of it. */
const isAtRest = ({ spec, status = {} }: Decoded<Job>): boolean =>
  spec?.suspend === true &&
  (!status.startTime ||
    ((status.active ?? 0) === 0 &&
      (status.conditions ?? []).some((c) => c.type === 'Suspended' && c.status === 'True')));

/** The place and the amounts of pods may change while a Job is at rest: upstream's Mutable…ForSuspendedJobs. */
function templateChange(s: Decoded<JobSpec>, old: Decoded<Job>): Errors {
  const before = old.spec?.template ?? {};
  if (!isAtRest(old)) return unchanged('spec.template', s.template, before);
  const next = withoutPlace(s.template ?? {});
  return semanticEqual(next, withoutPlace(before)) ? [] : [invalid('spec.template', s.template, immutable)];
}

function withoutPlace({ metadata, spec = {} }: Decoded<PodTemplateSpec>): Decoded<PodTemplateSpec> {
  const { nodeAffinity: _node, ...affinity } = spec.affinity ?? {};
  const withoutAmounts = (list: Decoded<Container[]> | undefined): Decoded<Container[]> | undefined =>
    list?.map((container) => ({ ...container, resources: undefined }));
  return {
    metadata: { ...metadata, annotations: undefined, labels: undefined },
    spec: {
      ...spec,
      affinity: Object.keys(affinity).length === 0 ? undefined : affinity,
      nodeSelector: undefined,
      tolerations: undefined,
      schedulingGates: undefined,
      containers: withoutAmounts(spec.containers),
      initContainers: withoutAmounts(spec.initContainers),
    },
  };
}

const maxCronJobName = 52;

export function validateCronJob(cronJob: Decoded<CronJob>): Errors {
  const name = cronJob.metadata?.name ?? '';
  return [
    ...cronSpecErrors(cronJob.spec ?? {}, undefined),
    ...(name.length > maxCronJobName
      ? [invalid('metadata.name', name, `must be no more than ${maxCronJobName} characters`)]
      : []),
  ];
}

/** The length of the name is not asked again: it can't be changed. */
export const validateCronJobUpdate = (cronJob: Decoded<CronJob>, old: Decoded<CronJob>): Errors =>
  newErrors(cronSpecErrors(cronJob.spec ?? {}, old.spec ?? {}), () =>
    cronSpecErrors(old.spec ?? {}, undefined),
  );

function scheduleErrors(s: Decoded<CronJobSpec>, old: Decoded<CronJobSpec> | undefined): Errors {
  const field = 'spec.schedule';
  const schedule = s.schedule ?? '';
  if (schedule === '') return [required(field)];
  const wrong = cronScheduleError(schedule);
  const errors: Errors = wrong === undefined ? [] : [invalid(field, schedule, wrong)];
  if (!schedule.includes('TZ')) return errors;
  const stays = old?.schedule?.includes('TZ') === true;
  if (!stays)
    errors.push(invalid(field, schedule, 'cannot use TZ or CRON_TZ in schedule, use timeZone field instead'));
  else if (s.timeZone !== undefined)
    errors.push(invalid(field, schedule, 'cannot use both timeZone field and TZ or CRON_TZ in schedule'));
  return errors;
}

function cronSpecErrors(s: Decoded<CronJobSpec>, old: Decoded<CronJobSpec> | undefined): Errors {
  const errors = scheduleErrors(s, old);
  errors.push(...nonNegative('spec.startingDeadlineSeconds', s.startingDeadlineSeconds));
  if (s.timeZone !== undefined && s.timeZone !== old?.timeZone) errors.push(...timeZoneErrors(s.timeZone));
  if (!s.concurrencyPolicy) errors.push(required('spec.concurrencyPolicy'));
  else errors.push(...oneOf('spec.concurrencyPolicy', s.concurrencyPolicy, ['Allow', 'Forbid', 'Replace']));
  const template = s.jobTemplate?.spec ?? {};
  const at = 'spec.jobTemplate.spec';
  errors.push(...jobSpecErrors(template, at));
  if (template.selector !== undefined)
    errors.push(invalid(`${at}.selector`, template.selector, '`selector` will be auto-generated'));
  if (template.manualSelector === true)
    errors.push(notSupported(`${at}.manualSelector`, true, ['nil', 'false']));
  for (const field of ['successfulJobsHistoryLimit', 'failedJobsHistoryLimit'] as const)
    errors.push(...nonNegative(`spec.${field}`, s[field]));
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
