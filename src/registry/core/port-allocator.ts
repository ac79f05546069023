// Hands out node ports of one range.
import type { Random } from '../../base/random.ts';
import { freeNumber, reservedBand } from './free-number.ts';

export interface PortAllocator {
  readonly first: number;
  readonly last: number;
  allocate(port: number): 'allocated' | 'not-in-range' | undefined;
  allocateNext(): number | undefined;
  release(port: number): void;
}

export function createPortAllocator(range: { first: number; last: number }, random: Random): PortAllocator {
  const { first, last } = range;
  const taken = new Set<number>();
  const scan = (from: number, to: number): number | undefined => freeNumber(taken, random, from, to);
  return {
    first,
    last,
    allocate(port) {
      if (port < first || port > last) return 'not-in-range';
      if (taken.has(port)) return 'allocated';
      taken.add(port);
      return undefined;
    },
    allocateNext() {
      const upper = first + reservedBand(last - first + 1, 32, 128);
      const found = scan(upper, last) ?? scan(first, upper - 1);
      if (found !== undefined) taken.add(found);
      return found;
    },
    release: (port) => void taken.delete(port),
  };
}
