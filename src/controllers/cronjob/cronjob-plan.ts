// What a CronJob has to do now: which job to start, which to forget, which finished ones to delete. Pure.
import { type CronSpec, parseCronSchedule } from '../../api/batch/v1/cron-schedule.ts';
import type { CronJob, Job } from '../../api/generated/types/batch-v1.ts';
import { findCondition } from '../../apimachinery/conditions.ts';
import { missedTimes, nextTime, offsetMs, wallClockOf } from './schedule-times.ts';

export type JobEnd = 'Complete' | 'Failed';

export const endOf = (job: Job): JobEnd | undefined =>
  (['Complete', 'Failed'] as const).find(
    (type) => findCondition(job.status?.conditions, type)?.status === 'True',
  );

/** Why nothing can be started: an event at the CronJob. */
export interface Complaint {
  readonly reason: string;
  readonly message: string;
}

export interface Timing {
  /** The latest time that is due and was not met. */
  readonly due: number | undefined;
  /** When to look again. */
  readonly next: number | undefined;
  readonly complaints: readonly Complaint[];
}

const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Date.parse(text);

/** A time written with the offset of the CronJob's zone. */
export function localTime(cronJob: CronJob, ms: number): string {
  const clock = wallClockOf(cronJob.spec.timeZone ?? '');
  const offset = clock === undefined ? 0 : offsetMs(clock, ms) / 60_000;
  const text = new Date(ms + offset * 60_000).toISOString().slice(0, 19);
  if (offset === 0) return `${text}Z`;
  const two = (n: number): string => String(n).padStart(2, '0');
  const size = Math.abs(offset);
  return `${text}${offset < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** RFC 1123 with a numeric zone, as upstream's events write times. */
const eventTime = (ms: number): string => new Date(ms).toUTCString().replace('GMT', '+0000');

type Clocked = { readonly spec: CronSpec; readonly clock: NonNullable<ReturnType<typeof wallClockOf>> };

function scheduleOf({ spec }: CronJob): Clocked | Complaint {
  const zone = spec.timeZone;
  const clock = wallClockOf(zone ?? '');
  if (clock === undefined)
    return {
      reason: 'UnknownTimeZone',
      message: `invalid timeZone: ${JSON.stringify(zone)}: unknown time zone ${zone}`,
    };
  const parsed = parseCronSchedule(spec.schedule);
  if (typeof parsed === 'string')
    return {
      reason: 'UnparseableSchedule',
      message: `unparseable schedule: ${JSON.stringify(spec.schedule)} : ${parsed}`,
    };
  const own = parsed.type === 'fields' ? parsed.timeZone : undefined;
  return { spec: parsed, clock: own === undefined ? clock : (wallClockOf(own) ?? clock) };
}

export function timingOf(cronJob: CronJob, now: number): Timing {
  const schedule = scheduleOf(cronJob);
  if ('reason' in schedule) return { due: undefined, next: undefined, complaints: [schedule] };
  const { spec, clock } = schedule;
  const { startingDeadlineSeconds: seconds } = cronJob.spec;
  const deadlineMs = seconds === undefined ? Number.POSITIVE_INFINITY : Number(seconds) * 1000;
  const complaints: Complaint[] = [];
  const last = timeOf(cronJob.status?.lastScheduleTime);
  const since = last ?? timeOf(cronJob.metadata.creationTimestamp) ?? now;
  const from = Math.max(since, now - deadlineMs);
  // Upstream finds such days by two times that are one: neither ever comes.
  if (nextTime(spec, clock, from) === undefined) {
    const why = 'time difference between two schedules is less than 1 second';
    const message = `invalid schedule: ${cronJob.spec.schedule} : ${why}`;
    return { due: undefined, next: undefined, complaints: [{ reason: 'InvalidSchedule', message }] };
  }
  const { latest, many } = missedTimes(spec, clock, from, now);
  if (many)
    complaints.push({
      reason: 'TooManyMissedTimes',
      message:
        'too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    });
  const tooLate = latest !== undefined && latest + deadlineMs < now;
  if (tooLate)
    complaints.push({
      reason: 'MissSchedule',
      message: `Missed scheduled time to start a job: ${eventTime(latest)}`,
    });
  return {
    due: tooLate || latest === last ? undefined : latest,
    next: nextTime(spec, clock, now),
    complaints,
  };
}

/** One job a minute: whoever tries twice finds the name taken. */
export const jobNameAt = (cronJob: CronJob, due: number): string =>
  `${cronJob.metadata.name}-${Math.floor(due / 60_000)}`;

const startOf = (job: Job): number =>
  timeOf(job.status?.startTime) ?? timeOf(job.metadata.creationTimestamp) ?? 0;

/** Finished jobs beyond the limits of the history, the oldest first. */
export function surplusJobs({ spec }: CronJob, jobs: readonly Job[]): Job[] {
  const beyond = (end: JobEnd, limit: number | undefined): Job[] => {
    if (limit === undefined) return [];
    const ended = jobs
      .filter((job) => endOf(job) === end)
      .sort((a, b) => startOf(a) - startOf(b) || (a.metadata.name < b.metadata.name ? -1 : 1));
    return ended.slice(0, Math.max(0, ended.length - limit));
  };
  return [
    ...beyond('Complete', spec.successfulJobsHistoryLimit),
    ...beyond('Failed', spec.failedJobsHistoryLimit),
  ];
}

/** When the last of those that succeeded did. */
export function lastSuccess(cronJob: CronJob, jobs: readonly Job[]): string | undefined {
  let latest = cronJob.status?.lastSuccessfulTime;
  for (const job of jobs) {
    const at = endOf(job) === 'Complete' ? job.status?.completionTime : undefined;
    if (at !== undefined && (latest === undefined || at > latest)) latest = at;
  }
  return latest;
}
