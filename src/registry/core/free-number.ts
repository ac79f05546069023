// Picks a number that is not taken: how cluster IPs and node ports are drawn.
import type { Random } from '../../base/random.ts';

/** From a random place on, in a circle; undefined when all of `from` to `to` are taken. */
function freeWithin(
  isTaken: (number: number) => boolean,
  random: Random,
  from: number,
  to: number,
): number | undefined {
  const count = to - from + 1;
  if (count <= 0) return undefined;
  const start = random.uint(count);
  for (let i = 0; i < count; i++) {
    const candidate = from + ((start + i) % count);
    if (!isTaken(candidate)) return candidate;
  }
  return undefined;
}

export interface NumberRange {
  readonly first: number;
  readonly last: number;
  /** As upstream: so many of the lowest are left for those who name one, as long as there are others. */
  readonly reserved: number;
}

/** The lower `1/share` of a range, 16 to `most` numbers. */
export const reservedBand = (size: number, share: number, most: number): number =>
  size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / share)), most);

export function freeNumber(
  { first, last, reserved }: NumberRange,
  isTaken: (number: number) => boolean,
  random: Random,
): number | undefined {
  const upper = first + reserved;
  return freeWithin(isTaken, random, upper, last) ?? freeWithin(isTaken, random, first, upper - 1);
}
