// Parts of timestamps, in a time zone, and of durations.
import { durationType, intType, stringType, timestampType } from '../cel-type.ts';
import type { FunctionDeclaration, Overload } from '../declarations.ts';
import { wholeUnits } from '../duration.ts';
import { type Calendar, calendarOf } from '../timestamp.ts';
import { CelError, type Duration, type Timestamp, type Value } from '../value.ts';

function ofTimestamp(part: keyof Calendar, id: string, withZone: string): Overload[] {
  const read = (at: Timestamp, zone?: string): Value => {
    const calendar = calendarOf(at, zone);
    return calendar instanceof CelError ? calendar : BigInt(calendar[part]);
  };
  return [
    { id, member: true, params: [timestampType], result: intType, call: (at: Timestamp) => read(at) },
    { id: withZone, member: true, params: [timestampType, stringType], result: intType, call: read },
  ];
}
const ofDuration = (unit: 'h' | 'm' | 's' | 'ms', id: string): Overload => ({
  id,
  member: true,
  params: [durationType],
  result: intType,
  call: (duration: Duration) => wholeUnits(duration, unit),
});
const partOf = (
  name: string,
  part: keyof Calendar,
  id: string,
  ...more: Overload[]
): FunctionDeclaration => ({
  name,
  overloads: [
    ...ofTimestamp(part, id, id === 'timestamp_to_seconds' ? 'timestamp_to_seconds_tz' : `${id}_with_tz`),
    ...more,
  ],
});

export const timeFunctions: readonly FunctionDeclaration[] = [
  partOf('getFullYear', 'year', 'timestamp_to_year'),
  partOf('getMonth', 'month', 'timestamp_to_month'),
  partOf('getDayOfYear', 'dayOfYear', 'timestamp_to_day_of_year'),
  partOf('getDayOfMonth', 'dayOfMonth', 'timestamp_to_day_of_month'),
  partOf('getDate', 'date', 'timestamp_to_day_of_month_1_based'),
  partOf('getDayOfWeek', 'dayOfWeek', 'timestamp_to_day_of_week'),
  partOf('getHours', 'hours', 'timestamp_to_hours', ofDuration('h', 'duration_to_hours')),
  partOf('getMinutes', 'minutes', 'timestamp_to_minutes', ofDuration('m', 'duration_to_minutes')),
  partOf('getSeconds', 'seconds', 'timestamp_to_seconds', ofDuration('s', 'duration_to_seconds')),
  partOf(
    'getMilliseconds',
    'milliseconds',
    'timestamp_to_milliseconds',
    ofDuration('ms', 'duration_to_milliseconds'),
  ),
];
