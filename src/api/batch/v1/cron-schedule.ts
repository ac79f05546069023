// Whether a text is a cron schedule, as the library robfig/cron that upstream uses reads it.

const fields = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: 'jan feb mar apr may jun jul aug sep oct nov dec' },
  { name: 'day of week', min: 0, max: 6, words: 'sun mon tue wed thu fri sat' },
] as const;
const descriptors = new Set([
  '@yearly',
  '@annually',
  '@monthly',
  '@weekly',
  '@daily',
  '@midnight',
  '@hourly',
]);

/** What is wrong with it; undefined when nothing is. */
export function cronScheduleError(text: string): string | undefined {
  let schedule = text;
  if (/^(?:TZ|CRON_TZ)=/.test(schedule)) schedule = schedule.slice(schedule.indexOf(' ') + 1).trim();
  if (schedule.startsWith('@')) {
    if (descriptors.has(schedule)) return undefined;
    if (/^@every \d+(?:\.\d+)?(?:ns|us|ms|s|m|h)/.test(schedule)) return undefined;
    return `unrecognized descriptor: ${schedule}`;
  }
  const parts = schedule.trim().split(/\s+/);
  if (parts.length !== 5) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`;
  for (const [i, part] of parts.entries())
    for (const range of part.split(',')) {
      const wrong = rangeError(range, fields[i]!);
      if (wrong !== undefined) return wrong;
    }
  return undefined;
}

function rangeError(text: string, field: (typeof fields)[number]): string | undefined {
  const [range = '', step, moreSteps] = text.split('/');
  const [low = '', high, moreHyphens] = range.split('-');
  if (moreHyphens !== undefined) return `too many hyphens: ${text}`;
  if (moreSteps !== undefined) return `too many slashes: ${text}`;
  const start = low === '*' || low === '?' ? field.min : numberOf(low, field);
  if (typeof start === 'string') return start;
  const end = low === '*' || low === '?' ? field.max : high === undefined ? start : numberOf(high, field);
  if (typeof end === 'string') return end;
  if (step !== undefined) {
    if (!/^\d+$/.test(step))
      return `failed to parse int from ${step}: strconv.Atoi: parsing ${JSON.stringify(step)}: invalid syntax`;
    if (Number(step) === 0) return `step of range should be a positive number: ${text}`;
  }
  if (start < field.min) return `beginning of range (${start}) below minimum (${field.min}): ${text}`;
  if (end > field.max) return `end of range (${end}) above maximum (${field.max}): ${text}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${text}`;
  return undefined;
}

function numberOf(text: string, field: (typeof fields)[number]): number | string {
  if ('words' in field) {
    const at = field.words.split(' ').indexOf(text.toLowerCase());
    if (at >= 0) return at + field.min;
  }
  return /^\d{1,9}$/.test(text)
    ? Number(text)
    : `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
}
