// What a job's pods say of it and what must be done next, as pure functions.
import type { Job, JobCondition, JobStatus } from '../../api/generated/types/batch-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { rfc3339 } from '../../base/clock.ts';
import {
  isPodActive,
  isPodReady,
  isPodTerminal,
  isPodTerminating,
} from '../../component-helpers/pod-status.ts';
import { deletionOrder } from '../workload/deletion-order.ts';
import { formatIndexes, parseIndexes } from './completed-indexes.ts';
import {
  failedIndexes,
  hasIndexLimit,
  type IndexFailures,
  indexFailures,
  keptFailures,
} from './index-failures.ts';
import { hasFailed, indexOf, isIndexed, isTracked } from './job-pod.ts';
import { failureVerdict } from './pod-failure-policy.ts';
import { metSuccessRule } from './success-policy.ts';

/** No more at a time than this are taken into the status: its size is limited. */
const maxUncounted = 500;

export interface JobView {
  readonly job: Job;
  readonly pods: readonly Pod[];
  /** Uids of pods whose finalizer is removed already, though the informer still shows it. */
  readonly released: ReadonlySet<string>;
  readonly now: number;
}

export interface JobCounts {
  readonly active: readonly Pod[];
  readonly terminating: number;
  readonly ready: number;
  /** All that ended, counted or about to be. */
  readonly succeeded: number;
  readonly failed: number;
  /** Failures that limits are held against: also those whose pods are kept until another is in their place. */
  readonly failures: number;
  readonly completedIndexes: ReadonlySet<number>;
  /** Ended and not yet counted: their finalizers are to be removed. */
  readonly uncounted: { readonly succeeded: readonly string[]; readonly failed: readonly string[] };
  /** Already counted in the status: counters without the uncounted. */
  readonly counted: { readonly succeeded: number; readonly failed: number };
  /** Indexes that are given up; for jobs with a limit for each index. */
  readonly failedIndexes: ReadonlySet<number>;
  readonly indexFailures: ReadonlyMap<number, IndexFailures>;
  /** Why the policy for failed pods ends the job. */
  readonly failJob: string | undefined;
  /** To be let go without being counted: a second success of one index, a failure that the policy ignores. */
  readonly leftOver: readonly Pod[];
  readonly newlyFailed: readonly Pod[];
  readonly newlySucceeded: readonly Pod[];
  /** With their finalizer, and neither counted nor let go. */
  readonly held: readonly Pod[];
  /** There are more that ended than one status can name. */
  readonly isFull: boolean;
}

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';
export const isJobFinished = (job: Job): boolean =>
  job.status?.conditions?.some(
    (condition) =>
      (condition.type === 'Complete' || condition.type === 'Failed') && condition.status === 'True',
  ) === true;

/** Of pods that were to be counted: those still there, and how many are settled. */
function split(
  uids: readonly string[] | undefined,
  tracked: ReadonlyMap<string, Pod>,
): [kept: string[], settled: number] {
  const kept = (uids ?? []).filter((uid) => tracked.has(uid));
  return [kept, (uids ?? []).length - kept.length];
}

/** What ended and is to be counted, and what is only let go; as many as one status can name. */
class Tally {
  readonly succeeded: string[];
  readonly failed: string[];
  readonly leftOver: Pod[] = [];
  readonly newlyFailed: Pod[] = [];
  readonly newlySucceeded: Pod[] = [];
  readonly #job: Job;
  isFull = false;

  constructor(job: Job, { succeeded, failed }: JobCounts['uncounted']) {
    this.#job = job;
    this.succeeded = [...succeeded];
    this.failed = [...failed];
  }

  /** False when there is no room for one more. */
  #takes(): boolean {
    this.isFull ||= this.succeeded.length + this.failed.length >= maxUncounted;
    return !this.isFull;
  }
  success(pod: Pod): boolean {
    if (!this.#takes()) return false;
    this.succeeded.push(uidOf(pod));
    this.newlySucceeded.push(pod);
    return true;
  }
  failure(pod: Pod): boolean {
    const index = indexOf(pod);
    const isOfNone =
      isIndexed(this.#job) && (index === undefined || index >= (this.#job.spec.completions ?? 0));
    if (isOfNone || failureVerdict(this.#job, pod).action === 'Ignore') {
      this.leftOver.push(pod);
      return true;
    }
    if (!this.#takes()) return false;
    this.failed.push(uidOf(pod));
    this.newlyFailed.push(pod);
    return true;
  }
}

/** Counts the successes among the pods; of an index the first. Returns those that are left. */
function countSuccesses(job: Job, pods: readonly Pod[], completedIndexes: Set<number>, tally: Tally): Pod[] {
  return pods.filter((pod) => {
    if (pod.status?.phase !== 'Succeeded') return true;
    if (!isIndexed(job)) return !tally.success(pod);
    const index = indexOf(pod);
    // A second success of an index is no second completion.
    if (index === undefined || index >= (job.spec?.completions ?? 0) || completedIndexes.has(index)) {
      tally.leftOver.push(pod);
      return false;
    }
    if (!tally.success(pod)) return true;
    completedIndexes.add(index);
    return false;
  });
}

export function countPods({ job, pods, released }: JobView): JobCounts {
  const tracked = new Map(
    pods.filter((pod) => isTracked(pod) && !released.has(uidOf(pod))).map((pod) => [uidOf(pod), pod]),
  );
  const known = job.status?.uncountedTerminatedPods ?? {};
  const [succeededKept, succeededSettled] = split(known.succeeded, tracked);
  const [failedKept, failedSettled] = split(known.failed, tracked);
  const completedIndexes = parseIndexes(job.status?.completedIndexes, job.spec?.completions ?? 0);
  const tally = new Tally(job, { succeeded: succeededKept, failed: failedKept });
  const seen = new Set([...succeededKept, ...failedKept]);
  const unseen = [...tracked.values()].filter((pod) => !seen.has(uidOf(pod)));
  const others = countSuccesses(job, unseen, completedIndexes, tally);
  const active = pods.filter(isPodActive);
  const failures = indexFailures(job, pods);
  // What one pod of an index has done no other undoes.
  const given = failedIndexes(job, pods, failures).difference(completedIndexes);
  const kept = keptFailures(job, others, active, given.union(completedIndexes));
  const held = others.filter((pod) => !hasFailed(job, pod) || kept.has(pod) || !tally.failure(pod));
  const counted = {
    succeeded: isIndexed(job)
      ? completedIndexes.size - tally.succeeded.length
      : (job.status?.succeeded ?? 0) + succeededSettled,
    failed: (job.status?.failed ?? 0) + failedSettled,
  };
  const failed = counted.failed + tally.failed.length;
  return {
    active,
    failedIndexes: given,
    indexFailures: failures,
    failJob: pods
      .filter((pod) => hasFailed(job, pod))
      .map((pod) => failureVerdict(job, pod).message)
      .find((message) => message !== undefined),
    terminating: pods.filter((pod) => isPodTerminating(pod) && !isPodTerminal(pod)).length,
    ready: active.filter(isPodReady).length,
    succeeded: counted.succeeded + tally.succeeded.length,
    failed,
    failures: failed + [...kept].filter((pod) => failureVerdict(job, pod).action !== 'Ignore').length,
    completedIndexes,
    counted,
    held,
    ...partsOf(tally),
  };
}

const partsOf = ({ succeeded, failed, leftOver, newlyFailed, newlySucceeded, isFull }: Tally) => ({
  uncounted: { succeeded, failed },
  leftOver,
  newlyFailed,
  newlySucceeded,
  isFull,
});

/** Of a job that ends all pods are let go: what still runs has failed where the job has. */
export function countEnd(job: Job, counts: JobCounts, { type }: Outcome): JobCounts {
  const tally = new Tally(job, counts.uncounted);
  const held: Pod[] = [];
  for (const pod of counts.held)
    if (type === 'Complete' && !hasFailed(job, pod)) {
      // What ended well and found no room is counted the next time.
      if (pod.status?.phase === 'Succeeded') held.push(pod);
      else tally.leftOver.push(pod);
    } else if (!tally.failure(pod)) held.push(pod);
  const { uncounted, leftOver, newlyFailed, isFull } = partsOf(tally);
  return {
    ...counts,
    uncounted,
    held,
    failed: counts.counted.failed + uncounted.failed.length,
    leftOver: [...counts.leftOver, ...leftOver],
    newlyFailed: [...counts.newlyFailed, ...newlyFailed],
    isFull: counts.isFull || isFull || held.length > 0,
  };
}

export interface Outcome {
  readonly type: 'Complete' | 'Failed';
  readonly reason: string;
  readonly message: string;
}

/** Container restarts of pods that are restarted in place count as failures. */
function isPastBackoffOnFailure(job: Job, active: readonly Pod[]): boolean {
  if (job.spec?.template.spec?.restartPolicy !== 'OnFailure') return false;
  let restarts = 0;
  for (const pod of active)
    if (pod.status?.phase === 'Running' || pod.status?.phase === 'Pending')
      for (const status of [
        ...(pod.status.initContainerStatuses ?? []),
        ...(pod.status.containerStatuses ?? []),
      ])
        restarts += status.restartCount;
  const limit = job.spec.backoffLimit ?? 6;
  return limit === 0 ? restarts > 0 : restarts >= limit;
}

export const deadlineAt = (job: Job): number | undefined => {
  const { activeDeadlineSeconds, suspend } = job.spec ?? {};
  const since = Date.parse(job.status?.startTime ?? '');
  if (activeDeadlineSeconds === undefined || suspend === true || Number.isNaN(since)) return undefined;
  return since + Number(activeDeadlineSeconds) * 1000;
};

function outcomeOfIndexes(job: Job, { failedIndexes: failed, succeeded }: JobCounts): Outcome | undefined {
  const { maxFailedIndexes, completions = 0 } = job.spec;
  if (failed.size === 0) return undefined;
  if (maxFailedIndexes !== undefined && failed.size > maxFailedIndexes)
    return {
      type: 'Failed',
      reason: 'MaxFailedIndexesExceeded',
      message: 'Job has exceeded the specified maximal number of failed indexes',
    };
  return failed.size + succeeded >= completions
    ? { type: 'Failed', reason: 'FailedIndexes', message: 'Job has failed indexes' }
    : undefined;
}

/** How the job ends, once it is clear; pods may still be on their way out. */
export function outcomeOf(job: Job, counts: JobCounts, now: number): Outcome | undefined {
  const decided = (['FailureTarget', 'SuccessCriteriaMet'] as const).find(
    (type) => findCondition(job.status?.conditions, type)?.status === 'True',
  );
  if (decided !== undefined) {
    const { reason = '', message = '' } = findCondition(job.status?.conditions, decided) ?? {};
    return { type: decided === 'FailureTarget' ? 'Failed' : 'Complete', reason, message };
  }
  if (counts.failJob !== undefined)
    return { type: 'Failed', reason: 'PodFailurePolicy', message: counts.failJob };
  if (counts.failures > (job.spec?.backoffLimit ?? 6) || isPastBackoffOnFailure(job, counts.active))
    return {
      type: 'Failed',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    };
  const deadline = deadlineAt(job);
  if (deadline !== undefined && deadline <= now)
    return {
      type: 'Failed',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    };
  const failedIndexesOutcome = outcomeOfIndexes(job, counts);
  if (failedIndexesOutcome !== undefined) return failedIndexesOutcome;
  const success = metSuccessRule(job, counts.completedIndexes);
  if (success !== undefined) return { type: 'Complete', reason: 'SuccessPolicy', message: success };
  const { completions } = job.spec ?? {};
  const complete =
    completions === undefined
      ? counts.succeeded > 0 && counts.active.length === 0
      : counts.succeeded >= completions;
  return complete
    ? {
        type: 'Complete',
        reason: 'CompletionsReached',
        message: 'Reached expected number of succeeded pods',
      }
    : undefined;
}

export interface JobChange {
  readonly create: readonly (number | undefined)[];
  readonly remove: readonly Pod[];
}

const maxPerSync = 500;

/** Pods of one index beyond the first. */
function duplicates(active: readonly Pod[], completions: number, over: ReadonlySet<number>): Pod[] {
  const seen = new Set<number>();
  return active.filter((pod) => {
    const index = indexOf(pod);
    if (index === undefined || index >= completions || over.has(index) || seen.has(index)) return true;
    seen.add(index);
    return false;
  });
}

/** How many pods are to run now. */
function wantedPods({ spec }: Job, { succeeded }: JobCounts, useful: number): number {
  const { completions, parallelism = 1 } = spec ?? {};
  // Of a queue of unknown length nothing is begun any more once one found it empty; what runs may end.
  if (completions === undefined) return succeeded > 0 ? useful : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
}

/** Pods to make or to delete, while the job runs: not both at once. */
export function podChanges(job: Job, counts: JobCounts, now: number): JobChange {
  const { active } = counts;
  const over = new Set([...counts.completedIndexes, ...counts.failedIndexes]);
  const { suspend, completions = 0 } = job.spec ?? {};
  if (suspend === true) return { create: [], remove: active.slice(0, maxPerSync) };
  const extra = isIndexed(job) ? duplicates(active, completions, over) : [];
  const useful = active.filter((pod) => !extra.includes(pod));
  const wanted = wantedPods(job, counts, useful.length);
  const surplus = deletionOrder(useful, () => 0, now).slice(0, Math.max(0, useful.length - wanted));
  const remove = [...extra, ...surplus].slice(0, maxPerSync);
  if (remove.length > 0) return { create: [], remove };
  const occupied = job.spec?.podReplacementPolicy === 'Failed' ? counts.terminating : 0;
  const missing = Math.min(maxPerSync, Math.max(0, wanted - useful.length - occupied));
  if (!isIndexed(job)) return { create: Array<undefined>(missing).fill(undefined), remove };
  const taken = new Set([...over, ...useful.map((pod) => indexOf(pod) ?? -1)]);
  const create: number[] = [];
  for (let index = 0; index < completions && create.length < missing; index++)
    if (!taken.has(index)) create.push(index);
  return { create, remove };
}

export function jobCondition(
  type: string,
  status: 'True' | 'False',
  reason: string,
  message: string,
  now: number,
): JobCondition {
  const time = rfc3339(now);
  return { type, status, reason, message, lastProbeTime: time, lastTransitionTime: time };
}

/** The status that the counts and the outcome make, but for start and completion times and the uncounted. */
export function statusCounts(job: Job, counts: JobCounts): JobStatus {
  const { uncountedTerminatedPods: _, ...kept } = job.status ?? {};
  return {
    ...kept,
    active: counts.active.length,
    ready: counts.ready,
    terminating: counts.terminating,
    succeeded: counts.succeeded,
    failed: counts.failed,
    ...(isIndexed(job) ? { completedIndexes: formatIndexes(counts.completedIndexes) } : {}),
    ...(hasIndexLimit(job) ? { failedIndexes: formatIndexes(counts.failedIndexes) } : {}),
    uncountedTerminatedPods: {},
  };
}
