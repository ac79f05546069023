// What a CronJob has to do at a moment.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CronJob, Job } from '../../api/generated/types/batch-v1.ts';
import { jobNameAt, lastSuccess, localTime, surplusJobs, timingOf } from './cronjob-plan.ts';

const at = (text: string): number => Date.parse(`2026-03-01T${text}Z`);
const cronJob = (spec: Partial<CronJob['spec']>, lastScheduleTime?: string): CronJob =>
  ({
    metadata: { name: 'c', creationTimestamp: '2026-03-01T10:00:30Z' },
    spec: { schedule: '*/10 * * * *', ...spec },
    status: { lastScheduleTime },
  }) as unknown as CronJob;
const job = (name: string, startTime: string, end?: string): Job =>
  ({
    metadata: { name },
    status: {
      startTime,
      completionTime: startTime,
      conditions: end === undefined ? [] : [{ type: end, status: 'True' }],
    },
  }) as unknown as Job;

describe('timingOf', () => {
  it('names what is due and when to look again', () => {
    assert.deepEqual(timingOf(cronJob({}), at('10:09:59')), {
      due: undefined,
      next: at('10:10:00'),
      complaints: [],
    });
    assert.deepEqual(timingOf(cronJob({}), at('10:25:00')), {
      due: at('10:20:00'),
      next: at('10:30:00'),
      complaints: [],
    });
    assert.equal(timingOf(cronJob({}, '2026-03-01T10:20:00Z'), at('10:25:00')).due, undefined);
  });
  it('starts nothing after the deadline', () => {
    assert.equal(timingOf(cronJob({ startingDeadlineSeconds: 100 }), at('10:25:00')).due, undefined);
    assert.equal(timingOf(cronJob({ startingDeadlineSeconds: 400 }), at('10:25:00')).due, at('10:20:00'));
    const never = cronJob({ startingDeadlineSeconds: 2n ** 63n - 1n });
    assert.deepEqual(timingOf(never, at('10:25:00')), timingOf(cronJob({}), at('10:25:00')));
  });
  it('complains as upstream does', () => {
    assert.deepEqual(timingOf(cronJob({ timeZone: 'Mars/X' }), at('10:25:00')).complaints, [
      { reason: 'UnknownTimeZone', message: 'invalid timeZone: "Mars/X": unknown time zone Mars/X' },
    ]);
    assert.equal(
      timingOf(cronJob({ schedule: '?' }), at('10:25:00')).complaints[0]?.reason,
      'UnparseableSchedule',
    );
    assert.deepEqual(timingOf(cronJob({ schedule: '59 23 31 2 *' }), at('10:25:00')), {
      due: undefined,
      next: undefined,
      complaints: [
        {
          reason: 'InvalidSchedule',
          message:
            'invalid schedule: 59 23 31 2 * : time difference between two schedules is less than 1 second',
        },
      ],
    });
    const late = cronJob({ schedule: '* * * * *' }, '2026-03-01T08:00:00Z');
    assert.equal(timingOf(late, at('10:25:00')).complaints[0]?.reason, 'TooManyMissedTimes');
  });
});

describe('the jobs of a CronJob', () => {
  it('are named by the minute', () => {
    assert.equal(jobNameAt(cronJob({}), at('10:20:00')), 'c-29539340');
  });
  it('carry the time in its zone', () => {
    assert.equal(localTime(cronJob({}), at('10:20:00')), '2026-03-01T10:20:00Z');
    assert.equal(
      localTime(cronJob({ timeZone: 'Asia/Kolkata' }), at('10:20:00')),
      '2026-03-01T15:50:00+05:30',
    );
    assert.equal(
      localTime(cronJob({ timeZone: 'America/New_York' }), at('10:20:00')),
      '2026-03-01T05:20:00-05:00',
    );
  });
  it('go when the history is long enough, the oldest first', () => {
    const jobs = [
      job('b', '2', 'Complete'),
      job('a', '1', 'Complete'),
      job('f', '1', 'Failed'),
      job('r', '0'),
    ];
    const names = (spec: Partial<CronJob['spec']>): string[] =>
      surplusJobs(cronJob(spec), jobs).map(({ metadata }) => metadata.name);
    assert.deepEqual(names({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 1 }), ['a']);
    assert.deepEqual(names({ successfulJobsHistoryLimit: 0, failedJobsHistoryLimit: 0 }), ['a', 'b', 'f']);
    assert.deepEqual(names({}), []);
    assert.equal(lastSuccess(cronJob({}), jobs), '2');
  });
});
