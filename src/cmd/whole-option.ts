// The value of a flag that is a whole number.
import { InvalidArgumentError } from 'commander';

export function whole(text: string): number {
  const value = text === '' ? Number.NaN : Number(text);
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError('not a whole number');
  return value;
}
