// RFC 3339 as Go's time.Parse reads it: no other form, and no day that its month has not.

const form = /^(\d{4})-(\d\d)-(\d\d)T(\d\d?):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Milliseconds since the epoch; a text says which part is out of its range, undefined that it is no such time. */
export function readRfc3339(text: string): number | string | undefined {
  const parts = form.exec(text);
  if (parts === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const offsetHours = Number(parts[9] ?? 0);
  const offsetMinutes = Number(parts[10] ?? 0);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const wrong = (
    [
      ['month', month < 1 || month > 12],
      ['hour', hour > 23],
      ['minute', minute > 59],
      ['second', second > 59],
      ['time zone offset hour', offsetHours > 24],
      ['time zone offset minute', offsetMinutes > 60],
      ['day', date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day],
    ] as const
  ).find(([, isWrong]) => isWrong);
  if (wrong !== undefined) return wrong[0];
  const offset = (offsetHours * 60 + offsetMinutes) * (parts[8] === '-' ? -1 : 1);
  const fraction = Number((parts[7] ?? '').slice(0, 3).padEnd(3, '0'));
  return date.setUTCHours(hour, minute - offset, second, fraction);
}
