// Runs pods to their end, as many as a Job asks for, and counts each exactly once.
import { jobs, pods } from '../api/generated/resources.ts';
import type { Job, JobCondition, JobStatus } from '../api/generated/types/batch-v1.ts';
import type { Pod } from '../api/generated/types/core-v1.ts';
import { findCondition } from '../apimachinery/conditions.ts';
import { isStatusError } from '../apimachinery/errors.ts';
import { selectorFrom } from '../apimachinery/label-selector.ts';
import { backoffMs } from '../base/backoff.ts';
import { keyOf } from '../client/cache/object-store.ts';
import { referenceTo } from '../client/event-recorder.ts';
import { isPodReady } from '../component-helpers/pod-status.ts';
import { may, mayRecordEvents } from '../controller-runtime/access.ts';
import {
  type Controller,
  type ControllerContext,
  defineController,
  watching,
} from '../controller-runtime/define-controller.ts';
import { failureAnnotations, hasIndexLimit, podBackoff, retryAt } from './job/index-failures.ts';
import { jobFinished, jobSynced, podsCounted, type SyncAction } from './job/job-metrics.ts';
import {
  countEnd,
  countPods,
  deadlineAt,
  isJobFinished,
  type JobCounts,
  outcomeOf,
  podChanges,
  statusCounts,
} from './job/job-plan.ts';
import {
  finishedAt,
  indexedBase,
  isIndexed,
  isTracked,
  jobPodTemplate,
  trackingFinalizer,
} from './job/job-pod.ts';
import { jobStatus } from './job/job-status.ts';
import { claim } from './workload/claim.ts';
import { changePods, podFromTemplate } from './workload/pod-control.ts';
import { sameStatus } from './workload/same-status.ts';

/** What is remembered of a job between reconciles; after a restart it is learnt again. */
interface Memory {
  readonly released: Set<string>;
  failuresInARow: number;
  lastFailureAt: number;
  /** The job's version after our last write of it. */
  written?: number;
}

/**
 * The informer of pods may be ahead of the one of jobs: it shows a pod that was let go, and the job not yet as it was when
 * that pod was counted. Who looks now would make another in its place.
 */
const isBehind = ({ metadata }: Job, { written = 0 }: Memory): boolean =>
  Number(metadata.resourceVersion) < written;

/** The job's event is on its way; should it be lost, the list that follows has it. */
const behindMs = 1_000;

const uidOf = (pod: Pod): string => pod.metadata.uid ?? '';

async function releasePod(context: ControllerContext, memory: Memory, pod: Pod): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  const body = { metadata: { uid, '$deleteFromPrimitiveList/finalizers': [trackingFinalizer] } };
  try {
    await context.write.patch(pods, { name, namespace }, { type: 'strategic', body });
  } catch (error) {
    // Gone, or another pod of that name.
    if (
      !isStatusError(error, 'NotFound') &&
      !isStatusError(error, 'Invalid') &&
      !isStatusError(error, 'Conflict')
    )
      throw error;
  }
  memory.released.add(uidOf(pod));
}

function rememberEnds(memory: Memory, counts: JobCounts): void {
  const lastSuccess = Math.max(0, ...counts.newlySucceeded.map(finishedAt));
  if (counts.newlySucceeded.length > 0) memory.failuresInARow = 0;
  for (const pod of counts.newlyFailed) {
    const at = finishedAt(pod);
    if (at < lastSuccess) continue;
    memory.failuresInARow += 1;
    memory.lastFailureAt = Math.max(memory.lastFailureAt, at);
  }
}
function msUntilNextPod(memory: Memory, now: number): number {
  if (memory.failuresInARow === 0) return 0;
  const backoff = backoffMs(podBackoff, memory.failuresInARow);
  return Math.max(0, memory.lastFailureAt + backoff - now);
}

/** Pods that a job which goes on no longer wants are freed first: their end is not to be counted. */
async function removePods(
  context: ControllerContext,
  memory: Memory,
  job: Job,
  { remove, isEnd }: { readonly remove: readonly Pod[]; readonly isEnd: boolean },
): Promise<void> {
  if (remove.length === 0) return;
  if (!isEnd) await Promise.all(remove.filter(isTracked).map((pod) => releasePod(context, memory, pod)));
  const owner = { resource: jobs, object: job };
  await changePods(context, owner, { create: 0, pod: () => podFromTemplate(owner, {}), remove });
}

const annotationsOf = (
  job: Job,
  index: number | undefined,
  { indexFailures }: JobCounts,
): Record<string, string> =>
  index === undefined || !hasIndexLimit(job) ? {} : failureAnnotations(indexFailures.get(index));

/** Those that may be tried now, and how long the next must wait. */
function dueIndexes(
  memory: Memory,
  job: Job,
  create: readonly (number | undefined)[],
  { indexFailures }: JobCounts,
  now: number,
): { readonly due: readonly (number | undefined)[]; readonly waitMs: number } {
  if (create.length === 0) return { due: [], waitMs: 0 };
  if (!hasIndexLimit(job)) {
    const waitMs = msUntilNextPod(memory, now);
    return { due: waitMs > 0 ? [] : create, waitMs };
  }
  const waitOf = (index: number | undefined): number => {
    const failures = index === undefined ? undefined : indexFailures.get(index);
    return failures === undefined ? 0 : Math.max(0, retryAt(failures) - now);
  };
  const waits = create.map(waitOf).filter((wait) => wait > 0);
  return {
    due: create.filter((index) => waitOf(index) === 0),
    waitMs: Math.min(...waits, podBackoff.longestMs),
  };
}

async function createPods(
  context: ControllerContext,
  job: Job,
  indexes: readonly (number | undefined)[],
  counts: JobCounts,
): Promise<void> {
  if (indexes.length === 0) return;
  const owner = { resource: jobs, object: job };
  await changePods(context, owner, {
    create: indexes.length,
    pod: (at) => {
      const index = indexes[at];
      const pod = podFromTemplate(owner, jobPodTemplate(job, index, annotationsOf(job, index, counts)));
      if (index === undefined) return pod;
      return { ...pod, metadata: { ...pod.metadata, generateName: indexedBase(job, index) } };
    },
    remove: [],
  });
}

class JobSync {
  readonly #context: ControllerContext;
  readonly #memory: Memory;
  #job: Job;
  readonly #pods: readonly Pod[];
  #action: SyncAction = 'reconciling';

  constructor(context: ControllerContext, memory: Memory, job: Job, claimed: readonly Pod[]) {
    this.#context = context;
    this.#memory = memory;
    this.#job = job;
    this.#pods = claimed;
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.events.event(referenceTo(jobs, this.#job), type, reason, message);
  }
  async #write(status: JobStatus): Promise<void> {
    if (sameStatus(status, this.#job.status)) return;
    const before = this.#job;
    this.#job = await this.#context.write.update(jobs, { ...before, status }, { subresource: 'status' });
    podsCounted(this.#context.metrics, before, status);
    this.#memory.written = Number(this.#job.metadata.resourceVersion);
  }

  /** Returns when to look again. */
  async run(mayChange: boolean): Promise<number | undefined> {
    const { clock, metrics } = this.#context;
    const began = clock.monotonic();
    let failed = true;
    try {
      const again = await this.#sync(mayChange);
      failed = false;
      return again;
    } finally {
      const seconds = (clock.monotonic() - began) / 1000;
      jobSynced(metrics, this.#job, { action: this.#action, seconds, failed });
    }
  }

  async #sync(mayChange: boolean): Promise<number | undefined> {
    const { clock } = this.#context;
    const memory = this.#memory;
    const now = clock.now();
    const seen = countPods({ job: this.#job, pods: this.#pods, released: memory.released, now });
    rememberEnds(memory, seen);
    const outcome = outcomeOf(this.#job, seen, now);
    // There may be pods that the informer does not show yet: they are to end with the others.
    if (outcome !== undefined && !mayChange) return behindMs;
    const counts = outcome === undefined ? seen : countEnd(this.#job, seen, outcome);
    let failure: unknown;
    let again: number | undefined;
    let active = counts.active;
    if (mayChange)
      try {
        const change =
          outcome === undefined ? podChanges(this.#job, counts, now) : { create: [], remove: counts.active };
        this.#action = 'tracking';
        const isEnd = outcome !== undefined;
        await removePods(this.#context, memory, this.#job, { remove: change.remove, isEnd });
        if (change.remove.length > 0) this.#action = 'pods_deleted';
        active = active.filter((pod) => !change.remove.includes(pod));
        const { due, waitMs } = dueIndexes(memory, this.#job, change.create, counts, now);
        if (due.length < change.create.length) again = waitMs;
        await createPods(this.#context, this.#job, due, counts);
        if (due.length > 0) this.#action = 'pods_created';
      } catch (error) {
        failure = error;
      }
    await this.#track(counts);
    const removed = counts.active.length - active.length;
    const status = jobStatus(
      this.#job,
      {
        ...counts,
        active,
        ready: active.filter(isPodReady).length,
        terminating: counts.terminating + removed,
      },
      outcome,
      now,
      mayChange,
    );
    const before = this.#job.status?.conditions;
    await this.#write(status);
    this.#announce(before, status.conditions);
    if (failure !== undefined) throw failure;
    if (counts.isFull) return 0;
    const deadline = deadlineAt(this.#job);
    if (deadline !== undefined && !isJobFinished(this.#job))
      again = Math.min(again ?? Number.POSITIVE_INFINITY, Math.max(1, deadline - now));
    return again;
  }

  /** First it is written down which pods ended, then they are let go, then they are counted: a crash loses none. */
  async #track(counts: JobCounts): Promise<void> {
    const { uncounted, counted } = counts;
    const due = new Set([...uncounted.succeeded, ...uncounted.failed]);
    if (due.size > 0) {
      const { succeeded, failed } = uncounted;
      await this.#write({
        ...statusCounts(this.#job, counts),
        succeeded: counted.succeeded,
        failed: counted.failed,
        uncountedTerminatedPods: {
          ...(succeeded.length === 0 ? {} : { succeeded: [...succeeded] }),
          ...(failed.length === 0 ? {} : { failed: [...failed] }),
        },
      });
    }
    const ended = this.#pods.filter((pod) => due.has(uidOf(pod)) && !this.#memory.released.has(uidOf(pod)));
    const finished = [...ended, ...counts.leftOver];
    await Promise.all(finished.map((pod) => releasePod(this.#context, this.#memory, pod)));
  }

  #announce(before: readonly JobCondition[] | undefined, after: readonly JobCondition[] | undefined): void {
    const isNew = (type: string, status: string): JobCondition | undefined => {
      const now = findCondition(after, type);
      return now?.status === status && findCondition(before, type)?.status !== status ? now : undefined;
    };
    const complete = isNew('Complete', 'True');
    const failed = isNew('Failed', 'True');
    const end = complete ?? failed;
    if (end !== undefined) jobFinished(this.#context.metrics, this.#job, end);
    const { succeeded = 0 } = this.#job.status ?? {};
    if (complete !== undefined && succeeded > (this.#job.spec.completions ?? Number.POSITIVE_INFINITY)) {
      const text = 'Too many succeeded pods running after completion count reached';
      this.#event('Warning', 'TooManySucceededPods', text);
    }
    if (complete !== undefined) this.#event('Normal', 'Completed', 'Job completed');
    if (failed !== undefined) this.#event('Warning', failed.reason ?? '', failed.message ?? '');
    if (isNew('Suspended', 'True') !== undefined) this.#event('Normal', 'Suspended', 'Job suspended');
    if (findCondition(before, 'Suspended')?.status === 'True' && isNew('Suspended', 'False') !== undefined)
      this.#event('Normal', 'Resumed', 'Job resumed');
  }
}

/** Pods of a job that is over or gone must not stay for their finalizer. */
async function releaseAll(context: ControllerContext, memory: Memory, all: readonly Pod[]): Promise<void> {
  const held = all.filter((pod) => isTracked(pod) && !memory.released.has(uidOf(pod)));
  await Promise.all(held.map((pod) => releasePod(context, memory, pod)));
}

const jobNameLabel = 'batch.kubernetes.io/job-name';

/** The name of the job that a pod was made for; also when the garbage collector took its owner away. */
const jobNameOf = ({ metadata }: Pod): string | undefined => {
  const owner = metadata.ownerReferences?.find((reference) => reference.controller === true);
  if (owner === undefined) return metadata.labels?.[jobNameLabel];
  return owner.kind === 'Job' && owner.apiVersion === 'batch/v1' ? owner.name : undefined;
};

const isOwnedBy = ({ metadata }: Pod, uid: string | undefined): boolean =>
  metadata.ownerReferences?.some((reference) => reference.controller === true && reference.uid === uid) ===
  true;

/**
 * Frees the pods of a job that is gone, or gone and there again: nobody else takes their finalizer away. The job is
 * read live, for the informers of pods and jobs need not show the same moment.
 */
async function releaseOrphans(context: ControllerContext, name: string, namespace: string): Promise<void> {
  const held = context
    .read(pods)
    .list(namespace)
    .filter((pod) => isTracked(pod) && jobNameOf(pod) === name);
  const shown = context.read(jobs).get(name, namespace)?.metadata.uid;
  if (held.every((pod) => isOwnedBy(pod, shown))) return;
  const live = await liveUid(context, name, namespace);
  const memory: Memory = { released: new Set(), failuresInARow: 0, lastFailureAt: 0 };
  const orphans = held.filter((pod) => live === undefined || (!isOwnedBy(pod, live) && hasController(pod)));
  await releaseAll(context, memory, orphans);
}

const hasController = ({ metadata }: Pod): boolean =>
  metadata.ownerReferences?.some((reference) => reference.controller === true) === true;

async function liveUid(
  context: ControllerContext,
  name: string,
  namespace: string,
): Promise<string | undefined> {
  try {
    return (await context.write.get(jobs, { name, namespace })).metadata.uid;
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** Pods that are held for a job which does not own them; the job's own changes come by `owns`. */
const orphanWatch = watching(pods, (pod, { type }, context) => {
  const name = isTracked(pod) && type !== 'deleted' ? jobNameOf(pod) : undefined;
  const { namespace } = pod.metadata;
  if (name === undefined || isOwnedBy(pod, context.read(jobs).get(name, namespace)?.metadata.uid)) return [];
  return [keyOf(name, namespace)];
});

export function jobController(): Controller {
  const memories = new Map<string, Memory>();
  return defineController({
    name: 'job-controller',
    queue: 'job',
    serviceAccount: 'job-controller',
    for: jobs,
    owns: [pods],
    watches: [orphanWatch],
    selectorOf: (job) => job.spec?.selector,
    access: [
      may('get', jobs),
      may('update', jobs, 'status'),
      may(['create', 'delete', 'patch'], pods),
      mayRecordEvents,
    ],
    async reconcile({ name, namespace }, context) {
      const key = keyOf(name, namespace);
      const job = context.read(jobs).get(name, namespace);
      await releaseOrphans(context, name, namespace ?? '');
      if (job === undefined) {
        context.expectations.forget(key);
        memories.delete(key);
        return undefined;
      }
      const { managedBy } = job.spec ?? {};
      if (managedBy !== undefined && managedBy !== 'kubernetes.io/job-controller') return undefined;
      if (isIndexed(job) && job.spec?.completions === undefined) return undefined;
      let memory = memories.get(key);
      if (memory === undefined) {
        memory = { released: new Set(), failuresInARow: 0, lastFailureAt: 0 };
        memories.set(key, memory);
      }
      if (isBehind(job, memory)) return { requeueAfterMs: behindMs };
      const mayChange = context.expectations.satisfied(key) && job.metadata.deletionTimestamp === undefined;
      const claimed = await claim(context, {
        ownerResource: jobs,
        owner: job,
        selector: selectorFrom(job.spec?.selector),
        resource: pods,
      });
      const shown = new Set(claimed.filter(isTracked).map(uidOf));
      for (const uid of memory.released) if (!shown.has(uid)) memory.released.delete(uid);
      if (isJobFinished(job) || job.metadata.deletionTimestamp !== undefined) {
        await releaseAll(context, memory, claimed);
        return undefined;
      }
      return { requeueAfterMs: await new JobSync(context, memory, job, claimed).run(mayChange) };
    },
  });
}
