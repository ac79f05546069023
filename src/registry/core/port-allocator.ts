// Hands out node ports of one range.
import type { Random } from '../../base/random.ts';

export interface PortAllocator {
  readonly first: number;
  readonly last: number;
  allocate(port: number): 'allocated' | 'not-in-range' | undefined;
  allocateNext(): number | undefined;
  release(port: number): void;
}

/** As upstream: the lower part is left for those who name a port. */
const reservedBand = (size: number): number =>
  size < 16 ? 0 : Math.min(Math.max(16, Math.floor(size / 32)), 128);

export function createPortAllocator(range: { first: number; last: number }, random: Random): PortAllocator {
  const { first, last } = range;
  const taken = new Set<number>();
  const scan = (from: number, to: number): number | undefined => {
    const count = to - from + 1;
    if (count <= 0) return undefined;
    const start = random.uint(count);
    for (let i = 0; i < count; i++) {
      const candidate = from + ((start + i) % count);
      if (!taken.has(candidate)) return candidate;
    }
    return undefined;
  };
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
      const upper = first + reservedBand(last - first + 1);
      const found = scan(upper, last) ?? scan(first, upper - 1);
      if (found !== undefined) taken.add(found);
      return found;
    },
    release: (port) => void taken.delete(port),
  };
}
