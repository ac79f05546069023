// Hands out cluster IPs of one IPv4 range; dynamic ones from the upper band first, as upstream.
import { formatIpv4, type Ipv4Cidr, ipv4CidrContains, parseIpv4, sizeOfIpv4Cidr } from '../../base/ipv4.ts';
import type { Random } from '../../base/random.ts';
import { freeNumber, reservedBand } from './free-number.ts';

export type AllocationRefusal = 'allocated' | 'not-in-range' | 'not-an-ip' | 'full';

export interface IpAllocator {
  /** Takes this very address; undefined when it is now the caller's. */
  allocate(ip: string): AllocationRefusal | undefined;
  /** Takes any free address; undefined when there is none. */
  allocateNext(): string | undefined;
  release(ip: string): void;
  has(ip: string): boolean;
  free(): number;
}

export function createIpAllocator(cidr: Ipv4Cidr, random: Random): IpAllocator {
  const taken = new Set<number>();
  // The network's own address and its broadcast address are never given.
  const first = cidr.base + 1;
  const last = cidr.base + sizeOfIpv4Cidr(cidr) - 2;
  const scan = (from: number, to: number): number | undefined => freeNumber(taken, random, from, to);
  return {
    allocate(ip) {
      const value = parseIpv4(ip);
      if (value === undefined) return 'not-an-ip';
      if (!ipv4CidrContains(cidr, value) || value < first || value > last) return 'not-in-range';
      if (taken.has(value)) return 'allocated';
      taken.add(value);
      return undefined;
    },
    allocateNext() {
      const upper = first + reservedBand(last - first + 1, 16, 256);
      const found = scan(upper, last) ?? scan(first, upper - 1);
      if (found === undefined) return undefined;
      taken.add(found);
      return formatIpv4(found);
    },
    release(ip) {
      const value = parseIpv4(ip);
      if (value !== undefined) taken.delete(value);
    },
    has: (ip) => taken.has(parseIpv4(ip) ?? -1),
    free: () => last - first + 1 - taken.size,
  };
}
