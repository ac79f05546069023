// Reads a cron schedule as the library robfig/cron that upstream uses: what it says, or what is wrong with it.

const fields = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  { name: 'month', min: 1, max: 12, words: 'jan feb mar apr may jun jul aug sep oct nov dec' },
  { name: 'day of week', min: 0, max: 6, words: 'sun mon tue wed thu fri sat' },
] as const;
type Field = (typeof fields)[number];

const descriptors: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Values of one field; `any` when it said `*`: then the other of the two day fields decides alone. */
export interface CronField {
  readonly values: ReadonlySet<number>;
  readonly any: boolean;
}

export type CronSpec =
  | {
      readonly type: 'fields';
      readonly minute: CronField;
      readonly hour: CronField;
      readonly dayOfMonth: CronField;
      readonly month: CronField;
      readonly dayOfWeek: CronField;
      /** From a prefix `TZ=`; undefined without one. */
      readonly timeZone: string | undefined;
    }
  | { readonly type: 'every'; readonly everyMs: number };

class CronError extends Error {}

/**
 * Upstream has no bound. All that a schedule can say is said in a tenth of it, and each time that the controller looks at
 * a CronJob it reads the schedule.
 */
const maxLength = 4_096;

/** What is wrong with it; undefined when nothing is. */
export function cronScheduleError(text: string): string | undefined {
  const spec = parseCronSchedule(text);
  return typeof spec === 'string' ? spec : undefined;
}

/** What it says, or a text that says what is wrong with it. */
export function parseCronSchedule(text: string): CronSpec | string {
  if (text.length > maxLength) return `a schedule may not be longer than ${maxLength} characters`;
  let schedule = text;
  let timeZone: string | undefined;
  if (/^(?:TZ|CRON_TZ)=/.test(schedule)) {
    const cut = schedule.indexOf(' ');
    timeZone = schedule.slice(schedule.indexOf('=') + 1, cut < 0 ? undefined : cut);
    schedule = schedule.slice(cut + 1).trim();
  }
  if (schedule.startsWith('@')) {
    const everyMs = delayOf(schedule);
    if (everyMs !== undefined) return { type: 'every', everyMs };
    const meaning = descriptors.get(schedule);
    if (meaning === undefined) return `unrecognized descriptor: ${schedule}`;
    schedule = meaning;
  }
  const parts = schedule.trim().split(/\s+/);
  if (parts.length !== 5) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`;
  try {
    const [minute, hour, dayOfMonth, month, dayOfWeek] = fields.map((field, i) =>
      fieldOf(parts[i] ?? '', field),
    ) as [CronField, CronField, CronField, CronField, CronField];
    return { type: 'fields', minute, hour, dayOfMonth, month, dayOfWeek, timeZone };
  } catch (error) {
    if (error instanceof CronError) return error.message;
    throw error;
  }
}

/** `@every 1h30m`; whole seconds, at least one. */
function delayOf(text: string): number | undefined {
  const amount = /^@every ((?:\d+(?:\.\d+)?(?:ns|us|ms|s|m|h))+)$/.exec(text)?.[1];
  if (amount === undefined) return undefined;
  let ms = 0;
  for (const [, number = '', unit = ''] of amount.matchAll(/(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)/gy))
    ms += Number(number) * (unitMs[unit] ?? 0);
  return Math.max(1000, Math.floor(ms / 1000) * 1000);
}

function fieldOf(text: string, field: Field): CronField {
  const values = new Set<number>();
  let any = false;
  for (const part of text.split(',')) if (addRange(values, part, field)) any = true;
  return { values, any };
}

/** Returns whether it said `*` and left nothing out. */
function addRange(values: Set<number>, text: string, field: Field): boolean {
  const fail = (message: string): never => {
    throw new CronError(`${message}: ${text}`);
  };
  const [range = '', step, moreSteps] = text.split('/');
  const [low = '', high, moreHyphens] = range.split('-');
  if (moreHyphens !== undefined) fail('too many hyphens');
  if (moreSteps !== undefined) fail('too many slashes');
  const star = low === '*' || low === '?';
  const start = star ? field.min : numberOf(low, field);
  let end = star ? field.max : high === undefined ? start : numberOf(high, field);
  let by = 1;
  if (step !== undefined) {
    by = integerOf(step);
    if (by === 0) fail('step of range should be a positive number');
    // `5/15` goes on to the end.
    if (!star && high === undefined) end = field.max;
  }
  if (start < field.min) fail(`beginning of range (${start}) below minimum (${field.min})`);
  if (end > field.max) fail(`end of range (${end}) above maximum (${field.max})`);
  if (start > end) fail(`beginning of range (${start}) beyond end of range (${end})`);
  for (let value = start; value <= end; value += by) values.add(value);
  return star && by === 1;
}

function numberOf(text: string, field: Field): number {
  if ('words' in field) {
    const at = field.words.split(' ').indexOf(text.toLowerCase());
    if (at >= 0) return at + field.min;
  }
  return integerOf(text);
}

function integerOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new CronError(
    `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`,
  );
}
