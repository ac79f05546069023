// What the status of a Job may become: whoever manages it, its end is told once and as clients expect it.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { semanticEqual } from '../../../apimachinery/equality.ts';
import { duplicate, invalid, required, unfit } from '../../../apimachinery/field-error.ts';
import { type Errors, nonNegative } from '../../../apimachinery/validation/checks.ts';
import type { Job, JobStatus } from '../../generated/types/batch-v1.ts';
import { countIndexes, sharedIndex } from './index-list.ts';

type Status = Decoded<JobStatus>;

const conditions = 'status.conditions';

const isTrue = ({ conditions: list = [] }: Status, type: string): boolean =>
  list.some((condition) => condition.type === type && condition.status === 'True');
const isFalse = ({ conditions: list = [] }: Status, type: string): boolean =>
  list.some((condition) => condition.type === type && condition.status === 'False');
const isFinished = (status: Status): boolean => isTrue(status, 'Complete') || isTrue(status, 'Failed');

/**
 * Most rules are asked only where an update touches what they are about: a status that was stored before them can
 * still be worked on, and one that a change of the spec has made untrue can be put right later.
 */
export function validateJobStatus(job: Decoded<Job>, old: Decoded<Job>): Errors {
  const change: Change = { job, status: job.status ?? {}, before: old.status ?? {} };
  return [
    ...countErrors(change.status),
    ...completeErrors(change),
    ...completionTimeErrors(change),
    ...targetErrors(change),
    ...finishedErrors(change),
    ...indexErrors(change),
    ...podErrors(change),
    ...successErrors(change),
    ...takenBackErrors(change),
    ...successTakenBackErrors(change),
  ];
}

interface Change {
  readonly job: Decoded<Job>;
  readonly status: Status;
  readonly before: Status;
}

const turned = ({ status, before }: Change, ...types: readonly string[]): boolean =>
  types.some((type) => isTrue(status, type) !== isTrue(before, type));
const touched = ({ status, before }: Change, ...names: readonly (keyof JobStatus)[]): boolean =>
  names.some((name) => !semanticEqual(status[name], before[name]));
/** It starts once more: what it was stopped with may be another's, and says nothing of this start. */
const resumes = ({ status, before }: Change): boolean =>
  isTrue(before, 'Suspended') && isFalse(status, 'Suspended');
const finishes = ({ status, before }: Change): boolean => isFinished(status) !== isFinished(before);

function countErrors(status: Status): Errors {
  const { uncountedTerminatedPods: { succeeded = [], failed = [] } = {} } = status;
  const seen = new Set<string>();
  const uids = (list: readonly (string | undefined)[], at: string): Errors =>
    list.flatMap((uid = '', i) => {
      const field = `status.uncountedTerminatedPods.${at}[${i}]`;
      if (uid === '') return [invalid(field, uid, 'must not be empty')];
      if (seen.has(uid)) return [duplicate(field, uid)];
      seen.add(uid);
      return [];
    });
  return [
    ...(['active', 'succeeded', 'failed', 'ready', 'terminating'] as const).flatMap((name) =>
      nonNegative(`status.${name}`, status[name]),
    ),
    ...uids(succeeded, 'succeeded'),
    ...uids(failed, 'failed'),
  ];
}

function completeErrors(change: Change): Errors {
  const { status } = change;
  if (!isTrue(status, 'Complete')) return [];
  return (['Failed', 'FailureTarget'] as const)
    .filter((other) => turned(change, 'Complete', other) && isTrue(status, other))
    .map((other) => unfit(conditions, `cannot set Complete=True and ${other}=true conditions`));
}

function completionTimeErrors(change: Change): Errors {
  const { startTime, completionTime } = change.status;
  const field = 'status.completionTime';
  const errors: Errors = [];
  if (turned(change, 'Complete') || touched(change, 'completionTime')) {
    const complete = isTrue(change.status, 'Complete');
    if (completionTime && !complete)
      errors.push(
        invalid(field, completionTime, 'cannot set completionTime when there is no Complete=True condition'),
      );
    if (!completionTime && complete)
      errors.push(required(field, 'completionTime is required for Complete jobs'));
  }
  if (
    touched(change, 'startTime', 'completionTime') &&
    Date.parse(completionTime ?? '') < Date.parse(startTime ?? '')
  )
    errors.push(invalid(field, completionTime, 'completionTime cannot be set before startTime'));
  return errors;
}

/** How it ends is said before it has ended. */
function targetErrors(change: Change): Errors {
  return (
    [
      ['Failed', 'FailureTarget'],
      ['Complete', 'SuccessCriteriaMet'],
    ] as const
  ).flatMap(([end, target]) =>
    turned(change, end, target) && isTrue(change.status, end) && !isTrue(change.status, target)
      ? [unfit(conditions, `cannot set ${end}=True condition without the ${target}=true condition`)]
      : [],
  );
}

function finishedErrors(change: Change): Errors {
  const { job, status } = change;
  if (!isFinished(status)) return [];
  const asked = (name: keyof JobStatus): boolean => finishes(change) || touched(change, name);
  const { active = 0, startTime, uncountedTerminatedPods } = status;
  const errors: Errors = [];
  if (asked('active') && active > 0)
    errors.push(invalid('status.active', active, 'active>0 is invalid for finished job'));
  const neverRan = job.spec?.suspend === true && job.spec.completions === 0;
  if (asked('startTime') && !startTime && !neverRan)
    errors.push(required('status.startTime', 'startTime is required for finished job'));
  const { succeeded = [], failed = [] } = uncountedTerminatedPods ?? {};
  if (asked('uncountedTerminatedPods') && succeeded.length + failed.length > 0)
    errors.push(
      invalid(
        'status.uncountedTerminatedPods',
        uncountedTerminatedPods,
        'uncountedTerminatedPods needs to be empty for finished job',
      ),
    );
  return errors;
}

function indexErrors(change: Change): Errors {
  const { job, status } = change;
  const { completions, completionMode, backoffLimitPerIndex } = job.spec ?? {};
  const { completedIndexes = '', failedIndexes } = status;
  const [newlyCompleted, newlyFailed] = [
    touched(change, 'completedIndexes'),
    touched(change, 'failedIndexes'),
  ];
  const errors: Errors = [];
  const malformed = (name: 'completedIndexes' | 'failedIndexes', text: string): void => {
    const why = completions === undefined ? 0 : countIndexes(text, completions);
    if (typeof why === 'string')
      errors.push(invalid(`status.${name}`, text, `error parsing ${name}: ${why}`));
  };
  if (newlyCompleted) malformed('completedIndexes', completedIndexes);
  if (newlyFailed && backoffLimitPerIndex !== undefined) malformed('failedIndexes', failedIndexes ?? '');
  if (newlyCompleted && completedIndexes !== '' && completionMode !== 'Indexed')
    errors.push(
      invalid(
        'status.completedIndexes',
        completedIndexes,
        'cannot set non-empty completedIndexes when non-indexed completion mode',
      ),
    );
  if (newlyFailed && failedIndexes !== undefined && backoffLimitPerIndex === undefined)
    errors.push(
      invalid(
        'status.failedIndexes',
        failedIndexes,
        'cannot set non-null failedIndexes when backoffLimitPerIndex is null',
      ),
    );
  if ((!newlyCompleted && !newlyFailed) || completions === undefined || failedIndexes === undefined)
    return errors;
  const shared = sharedIndex(completedIndexes, failedIndexes, completions);
  if (shared !== undefined)
    errors.push(
      invalid(
        'status.failedIndexes',
        failedIndexes,
        `failedIndexes and completedIndexes overlap at index: ${shared}`,
      ),
    );
  return errors;
}

function podErrors(change: Change): Errors {
  const { active = 0, ready = 0, terminating = 0 } = change.status;
  const errors: Errors = [];
  if (terminating > 0 && isFinished(change.status) && (finishes(change) || touched(change, 'terminating')))
    errors.push(invalid('status.terminating', terminating, 'terminating>0 is invalid for finished job'));
  if (ready > active && touched(change, 'ready', 'active'))
    errors.push(invalid('status.ready', ready, 'cannot set more ready pods than active'));
  return errors;
}

/** Asked always: a Job has met what it is to reach or it has failed. */
function successErrors({ job, status }: Change): Errors {
  const met = isTrue(status, 'SuccessCriteriaMet');
  const errors: Errors = (['Failed', 'FailureTarget'] as const)
    .filter((type) => met && isTrue(status, type))
    .map((type) => unfit(conditions, `cannot set SuccessCriteriaMet=True and ${type}=true conditions`));
  if (job.spec?.successPolicy !== undefined && !met && isTrue(status, 'Complete'))
    errors.push(
      unfit(conditions, 'cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True'),
    );
  return errors;
}

function takenBackErrors(change: Change): Errors {
  const { job, status, before } = change;
  const { completionMode, completions, parallelism, suspend } = job.spec ?? {};
  const errors: Errors = (['Failed', 'Complete', 'FailureTarget'] as const)
    .filter((type) => isTrue(before, type) && !isTrue(status, type))
    .map((type) => unfit(conditions, `cannot disable the terminal ${type}=True condition`));
  const fewer = (name: 'failed' | 'succeeded'): void => {
    const count = status[name] ?? 0;
    if (count < (before[name] ?? 0))
      errors.push(invalid(`status.${name}`, count, `cannot decrease the ${name} counter`));
  };
  fewer('failed');
  // A Job with indexes that shrinks as a whole forgets those beyond its end.
  if (completionMode !== 'Indexed' || completions !== parallelism) fewer('succeeded');
  if (status.completionTime && before.completionTime && touched(change, 'completionTime'))
    errors.push(invalid('status.completionTime', status.completionTime, 'completionTime cannot be mutated'));
  if (before.startTime && touched(change, 'startTime') && suspend !== true && !resumes(change))
    errors.push(
      invalid('status.startTime', status.startTime, 'field is immutable for unsuspended job once set'),
    );
  return errors;
}

function successTakenBackErrors({ status, before }: Change): Errors {
  const [met, wasMet] = [isTrue(status, 'SuccessCriteriaMet'), isTrue(before, 'SuccessCriteriaMet')];
  if (wasMet && !met) return [unfit(conditions, 'cannot disable the SuccessCriteriaMet=True condition')];
  return met && !wasMet && isTrue(before, 'Complete')
    ? [unfit(conditions, 'cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions')]
    : [];
}
