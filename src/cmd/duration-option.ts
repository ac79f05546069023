// An option whose value is a duration as Go writes it; the action is given milliseconds.
import { InvalidArgumentError, Option } from 'commander';
import { formatGoDuration, parseGoDuration } from '../base/go-duration.ts';

export function duration(text: string): number {
  const ms = parseGoDuration(text) ?? 0;
  if (ms === 0) throw new InvalidArgumentError('not a duration such as 8760h or 10m30s');
  return ms;
}

export const durationOption = (flag: string, description: string, defaultMs: number): Option =>
  new Option(`--${flag} <duration>`, description)
    .argParser(duration)
    .default(defaultMs, formatGoDuration(defaultMs));
