// Picks a number that is not taken: how cluster IPs and node ports are drawn.
import type { Random } from '../../base/random.ts';

/** From a random place on, in a circle; undefined when all of `from` to `to` are taken. */
export function freeNumber(
  taken: ReadonlySet<number>,
  random: Random,
  from: number,
  to: number,
): number | undefined {
  const count = to - from + 1;
  if (count <= 0) return undefined;
  const start = random.uint(count);
  for (let i = 0; i < count; i++) {
    const candidate = from + ((start + i) % count);
    if (!taken.has(candidate)) return candidate;
  }
  return undefined;
}

/** As upstream: the lower `1/share` of a range, 16 to `most` numbers, is left for those who name one. */
export const reservedBand = (size: number, share: number, most: number): number =>
  size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / share)), most);
