// Whether an indexed job has succeeded though not all of it has. Pure.
import type { Job } from '../../api/generated/types/batch-v1.ts';
import { parseIndexes } from './completed-indexes.ts';

/** The message of the success; undefined while no rule is met. */
export function metSuccessRule(job: Job, completed: ReadonlySet<number>): string | undefined {
  const at = (job.spec.successPolicy?.rules ?? []).findIndex(({ succeededIndexes, succeededCount }) => {
    if (succeededIndexes === undefined)
      return succeededCount !== undefined && completed.size >= succeededCount;
    const wanted = parseIndexes(succeededIndexes, job.spec.completions ?? 0);
    const met = [...wanted].filter((index) => completed.has(index)).length;
    return met >= (succeededCount ?? wanted.size);
  });
  return at < 0 ? undefined : `Matched rules at index ${at}`;
}
