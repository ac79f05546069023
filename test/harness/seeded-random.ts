// Numbers that look random and are the same for the same seed: a failure can be had again.

export interface SeededRandom {
  /** Below 1. */
  random(): number;
  /** A whole number from 0. */
  below(count: number): number;
  pick<T>(list: readonly T[]): T;
}

/** mulberry32 */
export function seededRandom(seed: number): SeededRandom {
  let state = seed >>> 0;
  const random = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number): number => Math.floor(random() * count);
  return { random, below, pick: (list) => list[below(list.length)]! };
}
