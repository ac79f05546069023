// When a cron schedule is due: robfig/cron's rules, in any time zone, over changes of the clock too.
import type { CronSpec } from '../../api/batch/v1/cron-schedule.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A schedule like February 30 is never due; upstream gives up after as long. */
const searchYears = 5;

/** What a clock on the wall shows. */
interface WallTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}
type WallClock = (ms: number) => WallTime;

const utcClock: WallClock = (ms) => {
  const at = new Date(ms);
  return {
    year: at.getUTCFullYear(),
    month: at.getUTCMonth() + 1,
    day: at.getUTCDate(),
    hour: at.getUTCHours(),
    minute: at.getUTCMinutes(),
  };
};

/** undefined for a zone that nobody knows. */
export function wallClockOf(timeZone: string): WallClock | undefined {
  if (['', 'UTC', 'Etc/UTC'].includes(timeZone)) return utcClock;
  let format: Intl.DateTimeFormat;
  try {
    const numeric = 'numeric';
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
    });
  } catch {
    return undefined;
  }
  return (ms) => {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const of = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    return {
      year: of('year'),
      month: of('month'),
      day: of('day'),
      hour: of('hour'),
      minute: of('minute'),
    };
  };
}

const asUtc = (wall: WallTime): number =>
  Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute);

/** How far the wall clock is ahead of UTC. */
export const offsetMs = (clock: WallClock, ms: number): number =>
  asUtc(clock(ms)) - Math.floor(ms / minuteMs) * minuteMs;

/** The first moment of a day; `day` may be past the end of its month. */
function startOfDay(clock: WallClock, year: number, month: number, day: number): number {
  const midnight = Date.UTC(year, month - 1, day);
  const guess = midnight - offsetMs(clock, midnight);
  const start = midnight - offsetMs(clock, guess);
  // Where clocks are put forward at midnight, the day starts later.
  return asUtc(clock(start)) < midnight ? start + hourMs : start;
}

type Fields = Extract<CronSpec, { type: 'fields' }>;

/** With both day fields said, either will do. */
function isDay({ dayOfMonth, dayOfWeek }: Fields, { year, month, day }: WallTime): boolean {
  const ofMonth = dayOfMonth.values.has(day);
  const ofWeek = dayOfWeek.values.has(new Date(Date.UTC(year, month - 1, day)).getUTCDay());
  return dayOfMonth.any || dayOfWeek.any ? ofMonth && ofWeek : ofMonth || ofWeek;
}

/** The first moment after `after` at which it is due; undefined when there is none. */
export function nextTime(spec: CronSpec, clock: WallClock, after: number): number | undefined {
  if (spec.type === 'every') return Math.floor(after / 1000) * 1000 + spec.everyMs;
  const giveUp = after + searchYears * 366 * dayMs;
  let at = Math.floor(after / minuteMs) * minuteMs + minuteMs;
  while (at <= giveUp) {
    const wall = clock(at);
    if (!spec.month.values.has(wall.month)) at = startOfDay(clock, wall.year, wall.month + 1, 1);
    else if (!isDay(spec, wall)) at = startOfDay(clock, wall.year, wall.month, wall.day + 1);
    else if (!spec.hour.values.has(wall.hour)) at += hourMs - wall.minute * minuteMs;
    else if (!spec.minute.values.has(wall.minute)) at += minuteMs;
    else return at;
  }
  return undefined;
}

export interface MissedTimes {
  /** The latest that is due and not met. */
  readonly latest: number | undefined;
  /** More than a hundred were missed. */
  readonly many: boolean;
}

/** What was due after `since` up to `now`. */
export function missedTimes(spec: CronSpec, clock: WallClock, since: number, now: number): MissedTimes {
  const first = nextTime(spec, clock, since);
  if (first === undefined || first > now) return { latest: undefined, many: false };
  const second = nextTime(spec, clock, first);
  if (second === undefined || second > now) return { latest: first, many: false };
  // Near the end is found by the distance of the first two: years of minutes are not walked one by one.
  const missed = Math.floor((now - first) / (second - first)) + 1;
  let latest: number | undefined = first;
  let at = nextTime(spec, clock, first + Math.max(0, missed - 2) * (second - first));
  if (at === undefined || at > now) at = second;
  while (at !== undefined && at <= now) {
    latest = at;
    at = nextTime(spec, clock, at);
  }
  return { latest, many: missed > 100 };
}
