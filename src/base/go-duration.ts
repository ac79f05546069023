// Durations as Go reads and writes them: `8760h0m0s`, `1.5s`, `12ms`.

const unitMs = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;
/** At one place, and nowhere further on. */
const part = /(\d+(?:\.\d*)?)(ms|[hms])/y;

/** Milliseconds; undefined for what is no duration. */
export function parseGoDuration(text: string): number | undefined {
  if (text === '0') return 0;
  let sum = 0;
  let at = 0;
  do {
    part.lastIndex = at;
    const [found, number, unit] = part.exec(text) ?? [];
    if (found === undefined) return undefined;
    sum += Number(number) * unitMs[unit as keyof typeof unitMs];
    at += found.length;
  } while (at < text.length);
  return sum;
}

const anyUnitMs: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ...Object.entries(unitMs),
]);
/** Go's durations are nanoseconds in 63 bits. */
const mostMs = 2 ** 63 / 1e6;
const number = /(?:\d+(?:\.\d*)?|\.\d+)/y;
const unit = /[^.\d]+/y;

/** Milliseconds, of a negative one or a finer one too; what Go says is wrong with it, if something is. */
export function readGoDuration(text: string): number | string {
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  if (unsigned === '0') return 0;
  const next = (pattern: RegExp, at: number): string => {
    pattern.lastIndex = at;
    return pattern.exec(unsigned)?.[0] ?? '';
  };
  let sum = 0;
  let at = 0;
  do {
    const found = next(number, at);
    if (found === '') return `time: invalid duration ${JSON.stringify(text)}`;
    at += found.length;
    const named = next(unit, at);
    if (named === '') return `time: missing unit in duration ${JSON.stringify(text)}`;
    const one = anyUnitMs.get(named);
    if (one === undefined)
      return `time: unknown unit ${JSON.stringify(named)} in duration ${JSON.stringify(text)}`;
    sum += Number(found) * one;
    if (sum > mostMs) return `time: invalid duration ${JSON.stringify(text)}`;
    at += named.length;
  } while (at < unsigned.length);
  return text.startsWith('-') ? -sum : sum;
}

/** Of what is not negative. Finer than a nanosecond, or of a second and more than a microsecond, is rounded. */
export function formatGoDuration(ms: number): string {
  const decimal = (value: number): string => String(Number(value.toFixed(6)));
  const nanoseconds = Math.round(ms * 1e6);
  if (nanoseconds === 0) return '0s';
  if (nanoseconds < 1_000) return `${nanoseconds}ns`;
  if (ms < 1) return `${decimal(nanoseconds / 1_000)}µs`;
  if (ms < 1_000) return `${decimal(ms)}ms`;
  const [hours, minutes] = [Math.floor(ms / unitMs.h), Math.floor((ms % unitMs.h) / unitMs.m)];
  const seconds = `${decimal((ms % unitMs.m) / 1_000)}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}
