// When schedules are due.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cronScheduleError, parseCronSchedule } from '../../api/batch/v1/cron-schedule.ts';
import { missedTimes, nextTime, wallClockOf } from './schedule-times.ts';

function next(schedule: string, after: string, timeZone = ''): string | undefined {
  const spec = parseCronSchedule(schedule);
  const clock = wallClockOf(timeZone);
  if (typeof spec === 'string' || clock === undefined) throw new Error(`no schedule: ${schedule}`);
  const at = nextTime(spec, clock, Date.parse(after));
  return at === undefined ? undefined : new Date(at).toISOString().replace('.000Z', 'Z');
}

describe('nextTime', () => {
  it('finds the next minute, hour, day, month', () => {
    const cases: [string, string, string][] = [
      ['0/15 * * * *', '2012-07-09T14:45:00Z', '2012-07-09T15:00:00Z'],
      ['*/15 * * * *', '2012-07-09T14:59:59Z', '2012-07-09T15:00:00Z'],
      ['20-35/15 * * * *', '2012-07-09T15:45:00Z', '2012-07-09T16:20:00Z'],
      ['20-35/15 * * * *', '2012-07-09T23:46:00Z', '2012-07-10T00:20:00Z'],
      ['0 0 * Feb Mon', '2012-07-09T23:35:00Z', '2013-02-04T00:00:00Z'],
      ['0 0 * Feb Mon/2', '2012-07-09T23:35:00Z', '2013-02-01T00:00:00Z'],
      ['0 0 29 2 ?', '2012-07-09T23:35:00Z', '2016-02-29T00:00:00Z'],
      ['0 0 1,15 * Sun', '2012-07-16T00:00:00Z', '2012-07-22T00:00:00Z'],
      ['0 0 */10 * Sun', '2012-07-15T00:00:00Z', '2012-07-21T00:00:00Z'],
      ['0 0 * * Mon', '2012-07-15T00:00:00Z', '2012-07-16T00:00:00Z'],
      ['@yearly', '2026-03-01T00:00:00Z', '2027-01-01T00:00:00Z'],
      ['@every 1h30m', '2026-03-01T00:00:00Z', '2026-03-01T01:30:00Z'],
      ['@every 1ns', '2026-03-01T00:00:00Z', '2026-03-01T00:00:01Z'],
      ['@every 1500ms', '2026-03-01T00:00:00Z', '2026-03-01T00:00:01Z'],
    ];
    for (const [schedule, after, expected] of cases) assert.equal(next(schedule, after), expected, schedule);
  });
  it('gives up on days that never come', () => {
    assert.equal(next('0 0 30 2 *', '2026-01-01T00:00:00Z'), undefined);
  });
  it('reads the clock of a zone', () => {
    assert.equal(next('30 8 * * *', '2026-07-01T00:00:00Z', 'Europe/Berlin'), '2026-07-01T06:30:00Z');
    assert.equal(next('30 8 * * *', '2026-01-01T00:00:00Z', 'Europe/Berlin'), '2026-01-01T07:30:00Z');
    assert.equal(next('0 0 1 * *', '2026-01-15T00:00:00Z', 'Asia/Kolkata'), '2026-01-31T18:30:00Z');
  });
  it('skips an hour that is not there and meets one twice that is there twice', () => {
    const zone = 'America/New_York';
    assert.equal(next('30 2 * * *', '2012-03-11T05:00:00Z', zone), '2012-03-12T06:30:00Z');
    assert.equal(next('30 1 * * *', '2012-11-04T04:00:00Z', zone), '2012-11-04T05:30:00Z');
    assert.equal(next('30 1 * * *', '2012-11-04T05:30:00Z', zone), '2012-11-04T06:30:00Z');
  });
  it('starts a day that has no midnight', () => {
    assert.equal(next('0 * 15 * *', '2018-11-03T00:00:00Z', 'America/Sao_Paulo'), '2018-11-15T02:00:00Z');
    assert.equal(next('0 5 4 11 *', '2018-11-03T00:00:00Z', 'America/Sao_Paulo'), '2018-11-04T07:00:00Z');
  });
  it('knows no zone of that name', () => {
    assert.equal(wallClockOf('Mars/Olympus'), undefined);
  });
});

describe('missedTimes', () => {
  const missed = (schedule: string, since: string, now: string): [string | undefined, boolean] => {
    const spec = parseCronSchedule(schedule);
    const clock = wallClockOf('');
    if (typeof spec === 'string' || clock === undefined) throw new Error(schedule);
    const { latest, many } = missedTimes(spec, clock, Date.parse(since), Date.parse(now));
    return [latest === undefined ? undefined : new Date(latest).toISOString(), many];
  };
  it('names the latest', () => {
    const since = '2026-01-01T00:00:30Z';
    assert.deepEqual(missed('*/5 * * * *', since, '2026-01-01T00:04:59Z'), [undefined, false]);
    assert.deepEqual(missed('*/5 * * * *', since, '2026-01-01T00:05:00Z'), [
      '2026-01-01T00:05:00.000Z',
      false,
    ]);
    assert.deepEqual(missed('*/5 * * * *', since, '2026-01-01T00:21:00Z'), [
      '2026-01-01T00:20:00.000Z',
      false,
    ]);
    assert.deepEqual(missed('0 9 * * 1-5', since, '2026-01-12T08:00:00Z'), [
      '2026-01-09T09:00:00.000Z',
      false,
    ]);
  });
  it('jumps over years of minutes', () => {
    assert.deepEqual(missed('* * * * *', '2016-01-01T00:00:00Z', '2026-01-01T00:00:10Z'), [
      '2026-01-01T00:00:00.000Z',
      true,
    ]);
  });
});

describe('cronScheduleError', () => {
  it('says what is wrong', () => {
    assert.equal(cronScheduleError('* * * *'), 'expected exactly 5 fields, found 4: [* * * *]');
    assert.equal(cronScheduleError('60 * * * *'), 'end of range (60) above maximum (59): 60');
    assert.equal(cronScheduleError('*/0 * * * *'), 'step of range should be a positive number: */0');
    assert.equal(cronScheduleError('@sometimes'), 'unrecognized descriptor: @sometimes');
    assert.match(cronScheduleError('a * * * *') ?? '', /^failed to parse int from a/);
    assert.equal(cronScheduleError('CRON_TZ=UTC 5 4 * * mon-fri'), undefined);
  });
});
