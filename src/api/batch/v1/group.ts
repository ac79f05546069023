// The kinds of batch/v1: Job and CronJob.
import type { Json, JsonObject } from '../../../apimachinery/declaration.ts';
import { ageOf, humanDuration } from '../../../apimachinery/human-duration.ts';
import {
  arr,
  bool,
  ensure,
  meta,
  num,
  obj,
  objs,
  setDefault,
  spec,
  status,
  str,
} from '../../../apimachinery/json-access.ts';
import type { GroupBehaviours, KindBehaviour } from '../../../apimachinery/kind-behaviour.ts';
import { podTemplateDefaults } from '../../core/v1/pod-defaults.ts';
import { ageCell, containerCells, nameCell, orNone, selectorCell } from '../../meta/row-cells.ts';
import { validateCronJob, validateJob, validateJobUpdate } from './validate-jobs.ts';

function completions(job: JsonObject): string {
  const succeeded = num(status(job)['succeeded']);
  const wanted = spec(job)['completions'];
  if (typeof wanted === 'number') return `${succeeded}/${wanted}`;
  const parallelism = num(spec(job)['parallelism']);
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function duration(job: JsonObject, now: number): string {
  const start = str(status(job)['startTime']);
  if (start === '') return '';
  const end = str(status(job)['completionTime']);
  return humanDuration((end === '' ? now : Date.parse(end)) - Date.parse(start));
}

function jobStatus(job: JsonObject): string {
  const has = (type: string): boolean =>
    objs(status(job)['conditions']).some((c) => c['type'] === type && c['status'] === 'True');
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (str(meta(job)['deletionTimestamp']) !== '') return 'Terminating';
  if (has('Suspended')) return 'Suspended';
  if (has('FailureTarget')) return 'FailureTarget';
  if (has('SuccessCriteriaMet')) return 'SuccessCriteriaMet';
  return 'Running';
}

const jobRow = (o: JsonObject, now: number): Json[] => [
  nameCell(o),
  jobStatus(o),
  completions(o),
  duration(o, now),
  ageCell(o, now),
  ...containerCells(spec(o)['template']),
  selectorCell(spec(o)['selector']),
];

/** Defaults of a Job's spec; templates of CronJobs get only those of their pods. */
function jobDefaults(job: JsonObject): void {
  const s = ensure(job, 'spec');
  if (s['completions'] === undefined && s['parallelism'] === undefined) {
    s['completions'] = 1;
    s['parallelism'] = 1;
  }
  setDefault(s, 'parallelism', 1);
  // With an index, each index has its own limit and the whole has none.
  setDefault(s, 'backoffLimit', s['backoffLimitPerIndex'] === undefined ? 6 : 2147483647);
  const labels = obj(obj(obj(s['template'])['metadata'])['labels']);
  if (Object.keys(labels).length > 0 && Object.keys(obj(meta(job)['labels'])).length === 0)
    ensure(job, 'metadata')['labels'] = { ...labels };
  setDefault(s, 'completionMode', 'NonIndexed');
  setDefault(s, 'suspend', false);
  setDefault(
    s,
    'podReplacementPolicy',
    s['podFailurePolicy'] === undefined ? 'TerminatingOrFailed' : 'Failed',
  );
  setDefault(s, 'manualSelector', false);
  for (const rule of objs(obj(s['podFailurePolicy'])['rules']))
    for (const pattern of objs(rule['onPodConditions']))
      if (str(pattern['status']) === '') pattern['status'] = 'True';
  podTemplateDefaults(s);
}

/** As upstream's generateSelector: the job's own labels select its pods. */
function generateSelector(job: JsonObject): void {
  const s = spec(job);
  if (s['manualSelector'] === true) return;
  const uid = str(meta(job)['uid']);
  if (uid === '') return;
  const labels = ensure(ensure(ensure(s, 'template'), 'metadata'), 'labels');
  const set = (key: string, value: string): void => {
    labels[key] ??= value;
  };
  set('batch.kubernetes.io/controller-uid', uid);
  set('batch.kubernetes.io/job-name', str(meta(job)['name']));
  set('controller-uid', uid);
  set('job-name', str(meta(job)['name']));
  const selector = ensure(s, 'selector');
  const match = ensure(selector, 'matchLabels');
  match['batch.kubernetes.io/controller-uid'] ??= uid;
}

const job: KindBehaviour = {
  hasGeneration: true,
  row: jobRow,
  selectableFields: (o) => ({ 'status.successful': String(num(status(o)['succeeded'])) }),
  strategy: {
    applyDefaults: jobDefaults,
    prepareForCreate: generateSelector,
    validate: validateJob,
    validateUpdate: validateJobUpdate,
    defaultGarbageCollection: 'orphan',
  },
};

const cronJob: KindBehaviour = {
  hasGeneration: true,
  row: (o, now) => {
    const s = spec(o);
    const template = obj(obj(s['jobTemplate'])['spec'])['template'];
    const last = str(status(o)['lastScheduleTime']);
    return [
      nameCell(o),
      str(s['schedule']),
      orNone(str(s['timeZone'])),
      bool(s['suspend']) ? 'True' : 'False',
      arr(status(o)['active']).length,
      last === '' ? '<none>' : ageOf(last, now),
      ageCell(o, now),
      ...containerCells(template),
      selectorCell(obj(obj(s['jobTemplate'])['spec'])['selector']),
    ];
  },
  strategy: {
    validate: validateCronJob,
    applyDefaults(o) {
      const s = ensure(o, 'spec');
      if (str(s['concurrencyPolicy']) === '') s['concurrencyPolicy'] = 'Allow';
      setDefault(s, 'suspend', false);
      setDefault(s, 'successfulJobsHistoryLimit', 3);
      setDefault(s, 'failedJobsHistoryLimit', 1);
      podTemplateDefaults(obj(obj(s['jobTemplate'])['spec']));
    },
  },
};

export const batchV1: GroupBehaviours = { cronjobs: cronJob, jobs: job };
