// What a Job's status says after its pods were counted.
import type { Job, JobCondition, JobStatus } from '../../api/generated/types/batch-v1.ts';
import { findCondition, withConditionLast } from '../../apimachinery/conditions.ts';
import { rfc3339 } from '../../base/clock.ts';
import { type JobCounts, jobCondition, type Outcome, statusCounts } from './job-plan.ts';

/** `now` in ms. `isManaged`: its pods were looked at, and it is as it is told to be. */
export function jobStatus(
  job: Job,
  counts: JobCounts,
  outcome: Outcome | undefined,
  now: number,
  isManaged = true,
): JobStatus {
  const status: JobStatus = statusCounts(job, counts);
  let conditions: JobCondition[] = [...(job.status?.conditions ?? [])];
  const suspended = findCondition(conditions, 'Suspended')?.status === 'True';
  if (outcome === undefined && job.spec?.suspend === true && !suspended && isManaged) {
    const condition = jobCondition('Suspended', 'True', 'JobSuspended', 'Job suspended', now);
    conditions = withConditionLast(conditions, condition);
    delete status.startTime;
  } else if (job.spec?.suspend !== true) {
    if (suspended && isManaged) {
      const condition = jobCondition('Suspended', 'False', 'JobResumed', 'Job resumed', now);
      conditions = withConditionLast(conditions, condition);
      // Also where it has one: its deadline begins now. Afterwards it can't be moved any more.
      delete status.startTime;
    }
    status.startTime ??= rfc3339(now);
  }
  if (outcome !== undefined) {
    const { type, reason, message } = outcome;
    const target = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget';
    conditions = withConditionLast(conditions, jobCondition(target, 'True', reason, message, now));
    // The end is only said when no pod runs any more, and all are counted.
    if (counts.active.length === 0 && counts.terminating === 0 && !counts.isFull) {
      conditions = withConditionLast(conditions, jobCondition(type, 'True', reason, message, now));
      status.startTime ??= rfc3339(now);
      // A clock that was set back does not make it end before it began.
      const at = rfc3339(now);
      if (type === 'Complete') status.completionTime = at < status.startTime ? status.startTime : at;
    }
  }
  return conditions.length === 0 ? status : { ...status, conditions };
}
