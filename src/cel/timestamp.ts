// Instants: RFC 3339 as Go reads and writes it, arithmetic, and what a calendar says of them in a time zone.

import { durationOf } from './duration.ts';
import { CelError, type Duration, Timestamp } from './value.ts';

const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;
const daySeconds = 86_400;
const overflow = new CelError('timestamp overflow');

/** An error outside of the years 1 to 9999. */
export const timestampOf = (seconds: number, nanos: number, offset: number = 0): Timestamp | CelError =>
  seconds < minSeconds || seconds > maxSeconds ? overflow : new Timestamp(seconds, nanos, offset);

/** Days since 1970 of a date of the Gregorian calendar. */
function daysOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 +
    yearOfEra * 365 +
    Math.floor(yearOfEra / 4) -
    Math.floor(yearOfEra / 100) +
    dayOfYear -
    719_468
  );
}

interface CivilDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

function dateOf(days: number): CivilDate {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shifted < 10 ? shifted + 3 : shifted - 9;
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1,
  };
}

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const daysIn = (year: number, month: number): number =>
  month === 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** undefined for what is none; an error for years that are out of range. */
export function parseTimestamp(text: string): Timestamp | CelError | undefined {
  const found = rfc3339.exec(text);
  if (!found) return undefined;
  const [year, month, day, hour, minute, second] = found.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [zoneHour, zoneMinute] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  const isDate = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  if (!isDate || hour > 23 || minute > 59 || second > 59 || zoneHour > 24 || zoneMinute > 59)
    return undefined;
  const offset = (found[8] === '-' ? -1 : 1) * (zoneHour * 3_600 + zoneMinute * 60);
  const nanos = Number((found[7] ?? '').slice(0, 9).padEnd(9, '0'));
  const seconds = daysOf(year, month, day) * daySeconds + hour * 3_600 + minute * 60 + second - offset;
  return timestampOf(seconds, nanos, offset);
}

/** Midnight of `2006-01-02`, in UTC. */
export function parseDate(text: string): Timestamp | undefined {
  const found = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  const parsed = found ? parseTimestamp(`${text}T00:00:00Z`) : undefined;
  return parsed instanceof Timestamp ? parsed : undefined;
}

const two = (value: number): string => String(value).padStart(2, '0');

export function formatTimestamp({ seconds, nanos, offset }: Timestamp): string {
  const local = calendarAt(seconds + offset, nanos);
  const date = `${String(local.year).padStart(4, '0')}-${two(local.month + 1)}-${two(local.date)}`;
  const fraction =
    nanos === 0
      ? ''
      : `.${String(nanos)
          .padStart(9, '0')
          .replace(/0{1,9}$/, '')}`;
  const minutes = Math.abs(Math.trunc(offset / 60));
  const zone =
    offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return `${date}T${two(local.hours)}:${two(local.minutes)}:${two(local.seconds)}${fraction}${zone}`;
}

export function addToTimestamp(at: Timestamp, { nanos }: Duration): Timestamp | CelError {
  const sum = BigInt(at.nanos) + nanos;
  const second = 1_000_000_000n;
  const left = ((sum % second) + second) % second;
  return timestampOf(at.seconds + Number((sum - left) / second), Number(left), at.offset);
}
export const timeBetween = (later: Timestamp, earlier: Timestamp): Duration | CelError =>
  durationOf(BigInt(later.seconds - earlier.seconds) * 1_000_000_000n + BigInt(later.nanos - earlier.nanos));

/** As CEL counts: months, days of the month and of the year from 0, `date` from 1, Sunday is 0. */
export interface Calendar {
  readonly year: number;
  readonly month: number;
  readonly dayOfMonth: number;
  readonly date: number;
  readonly dayOfYear: number;
  readonly dayOfWeek: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly milliseconds: number;
}

function calendarAt(seconds: number, nanos: number): Calendar {
  const days = Math.floor(seconds / daySeconds);
  const inDay = seconds - days * daySeconds;
  const { year, month, day } = dateOf(days);
  return {
    year,
    month: month - 1,
    dayOfMonth: day - 1,
    date: day,
    dayOfYear: days - daysOf(year, 1, 1),
    dayOfWeek: (((days + 4) % 7) + 7) % 7,
    hours: Math.floor(inDay / 3_600),
    minutes: Math.floor(inDay / 60) % 60,
    seconds: inDay % 60,
    milliseconds: Math.floor(nanos / 1_000_000),
  };
}

/** In a zone by its name or offset; UTC without. */
export function calendarOf(at: Timestamp, zone?: string): Calendar | CelError {
  const offset = zone === undefined ? 0 : zoneOffset(zone, at.seconds);
  return offset instanceof CelError ? offset : calendarAt(at.seconds + offset, at.nanos);
}

function zoneOffset(zone: string, seconds: number): number | CelError {
  const colon = zone.indexOf(':');
  if (colon === -1) return namedOffset(zone, seconds);
  const parts = [zone.slice(0, colon), zone.slice(colon + 1)];
  const wrong = parts.find((part) => !/^[+-]?\d{1,18}$/.test(part));
  if (wrong !== undefined) return new CelError(`strconv.Atoi: parsing "${wrong}": invalid syntax`);
  const [hours, minutes] = parts.map(Number) as [number, number];
  return (zone.startsWith('-') ? hours * 60 - minutes : hours * 60 + minutes) * 60;
}

/** Names come from rules and from objects: few are kept. */
const formats = new Map<string, Intl.DateTimeFormat>();
const mostFormats = 100;

function namedOffset(zone: string, seconds: number): number | CelError {
  if (zone === '' || zone === 'UTC' || zone === 'Local') return 0;
  const format = formats.get(zone) ?? newFormat(zone);
  if (!format) return new CelError(`unknown time zone ${zone}`);
  const parts = new Map(format.formatToParts(seconds * 1_000).map(({ type, value }) => [type, value]));
  const of = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
  const local = daysOf(of('year'), of('month'), of('day')) * daySeconds;
  return local + of('hour') * 3_600 + of('minute') * 60 + of('second') - seconds;
}

function newFormat(zone: string): Intl.DateTimeFormat | undefined {
  // JavaScript takes offsets and lower case as names as well.
  if (!/^[A-Z]/.test(zone)) return undefined;
  try {
    const numeric = { hour: 'numeric', minute: 'numeric', second: 'numeric' } as const;
    const format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, calendar: 'gregory', hourCycle: 'h23', numberingSystem: 'latn' },
      ...{ year: 'numeric', month: 'numeric', day: 'numeric', ...numeric },
    });
    if (formats.size >= mostFormats) formats.clear();
    formats.set(zone, format);
    return format;
  } catch {
    return undefined;
  }
}
