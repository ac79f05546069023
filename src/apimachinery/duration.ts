// Go's time.Duration as text (`1h30m0s`, `500ms`): how configuration and metav1.Duration write a length of time.

const units: Readonly<Record<string, number>> = Object.assign(Object.create(null), {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
});

/** Milliseconds. Throws Error with Go's message. */
export function parseDuration(text: string): number {
  const bad = (): Error => new Error(`time: invalid duration ${JSON.stringify(text)}`);
  const sign = text.startsWith('-') ? -1 : 1;
  let rest = /^[+-]/.test(text) ? text.slice(1) : text;
  if (rest === '0') return 0;
  if (rest === '') throw bad();
  let total = 0;
  while (rest !== '') {
    const number = /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)/.exec(rest)?.[0];
    if (number === undefined) throw bad();
    rest = rest.slice(number.length);
    const unit = /^[^0-9.]+/.exec(rest)?.[0];
    if (unit === undefined) throw new Error(`time: missing unit in duration ${JSON.stringify(text)}`);
    const factor = units[unit];
    if (factor === undefined)
      throw new Error(`time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`);
    total += Number(number) * factor;
    rest = rest.slice(unit.length);
  }
  // int64 nanoseconds is all that Go can hold.
  if (total > 9_223_372_036_854) throw bad();
  return sign * total;
}

/** As Go prints it: `1m30s`, `1.5s`, `500ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  const sign = ms < 0 ? '-' : '';
  const size = Math.abs(ms);
  const decimal = (value: number): string => String(Number(value.toFixed(9)));
  if (size < 1e-3) return `${sign}${Math.round(size * 1e6)}ns`;
  if (size < 1) return `${sign}${decimal(size * 1e3)}µs`;
  if (size < 1000) return `${sign}${decimal(size)}ms`;
  const hours = Math.floor(size / 3_600_000);
  const minutes = Math.floor((size % 3_600_000) / 60_000);
  const seconds = decimal((size % 60_000) / 1000);
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}s` : `${sign}${seconds}s`;
}
