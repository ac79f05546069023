// Failures of each index of a job that has a limit for each of them. Pure.
import type { Job } from '../../api/generated/types/batch-v1.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { type Backoff, backoffMs } from '../../base/backoff.ts';
import { parseIndexes } from './completed-indexes.ts';
import { finishedAt, hasFailed, indexOf } from './job-pod.ts';
import { failureVerdict } from './pod-failure-policy.ts';

const countKey = 'batch.kubernetes.io/job-index-failure-count';
const ignoredKey = 'batch.kubernetes.io/job-index-ignored-failure-count';
/** Of a job's next pod, and of an index's. */
export const podBackoff: Backoff = { firstMs: 10_000, longestMs: 600_000 };

export interface IndexFailures {
  readonly counted: number;
  readonly ignored: number;
  readonly lastAt: number;
}

export const hasIndexLimit = (job: Job): boolean => job.spec.backoffLimitPerIndex !== undefined;

function countOf(pod: Pod, key: string): number {
  const text = pod.metadata.annotations?.[key];
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** Each pod carries how often its index had failed before it. */
export function indexFailures(job: Job, pods: readonly Pod[]): Map<number, IndexFailures> {
  const result = new Map<number, IndexFailures>();
  if (!hasIndexLimit(job)) return result;
  for (const pod of pods) {
    const index = indexOf(pod);
    if (index === undefined || !hasFailed(job, pod)) continue;
    const isIgnored = failureVerdict(job, pod).action === 'Ignore';
    const counted = countOf(pod, countKey) + (isIgnored ? 0 : 1);
    const ignored = countOf(pod, ignoredKey) + (isIgnored ? 1 : 0);
    const before = result.get(index);
    if (before !== undefined && before.counted + before.ignored >= counted + ignored) continue;
    result.set(index, { counted, ignored, lastAt: finishedAt(pod) });
  }
  return result;
}

/** Indexes that will not be tried again. */
export function failedIndexes(
  job: Job,
  pods: readonly Pod[],
  failures: ReadonlyMap<number, IndexFailures>,
): Set<number> {
  const limit = job.spec.backoffLimitPerIndex;
  if (limit === undefined) return new Set();
  const failed = parseIndexes(job.status?.failedIndexes, job.spec.completions ?? 0);
  for (const [index, { counted }] of failures) if (counted > limit) failed.add(index);
  for (const pod of pods) {
    const index = indexOf(pod);
    if (index !== undefined && hasFailed(job, pod) && failureVerdict(job, pod).action === 'FailIndex')
      failed.add(index);
  }
  return failed;
}

/** The annotations of the next pod of an index. */
export const failureAnnotations = (failures: IndexFailures | undefined): Record<string, string> => ({
  [countKey]: String(failures?.counted ?? 0),
  ...((failures?.ignored ?? 0) === 0 ? {} : { [ignoredKey]: String(failures?.ignored) }),
});

/** When an index may be tried again: failures that the policy ignores make it wait as well. */
export const retryAt = ({ counted, ignored, lastAt }: IndexFailures): number =>
  lastAt + backoffMs(podBackoff, counted + ignored);

/**
 * Of each index that is to be tried again the pod that failed last: it carries the count, and is kept until another is in its
 * place. `over`: indexes that are not tried again.
 */
export function keptFailures(
  job: Job,
  pods: readonly Pod[],
  active: readonly Pod[],
  over: ReadonlySet<number>,
): Set<Pod> {
  if (!hasIndexLimit(job)) return new Set();
  const counts = (pod: Pod): number => countOf(pod, countKey) + countOf(pod, ignoredKey);
  const running = new Set(active.map(indexOf));
  const last = new Map<number, Pod>();
  for (const pod of pods) {
    const index = indexOf(pod);
    if (index === undefined || index >= (job.spec.completions ?? 0) || !hasFailed(job, pod)) continue;
    if (over.has(index) || running.has(index)) continue;
    const before = last.get(index);
    const isLater =
      before === undefined || (counts(pod) >= counts(before) && finishedAt(pod) >= finishedAt(before));
    if (isLater) last.set(index, pod);
  }
  return new Set(last.values());
}
