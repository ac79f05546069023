// A port as a flag.
import { InvalidArgumentError } from 'commander';

export function port(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 65_535) throw new InvalidArgumentError('not a port');
  return value;
}
