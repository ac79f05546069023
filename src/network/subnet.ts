// Prefixes as a machine's addresses and routes have them, and a subnet that collides with none of them: pure.
import { type Cidr, cidrOf, cidrsOverlap, formatCidr, ipAt, parseCidr, parseIp } from '../base/ip.ts';

/** Of a route as `ip` prints it, host routes without their length; undefined for `default`. */
export function routePrefix(to: string): Cidr | undefined {
  if (to.includes('/')) return parseCidr(to);
  const ip = parseIp(to);
  return ip === undefined ? undefined : cidrOf(ip);
}

/** Of an address with its length: there are others on its link. */
export function hasSubnet(address: string): boolean {
  const cidr = parseCidr(address);
  return cidr !== undefined && cidr.first !== cidr.last;
}

/** The first subnet of `bits` in `pool` that overlaps none of `used`; undefined when the pool is full. */
export function freeSubnet(pool: string, bits: number, used: readonly string[]): string | undefined {
  const range = parseCidr(pool);
  if (range === undefined || bits < range.bits || bits > 30)
    throw new Error(`${pool} has no subnets of length ${bits}`);
  const taken = used
    .map(routePrefix)
    .filter((cidr) => cidr !== undefined)
    .filter(({ bits }) => bits > 0);
  for (let next = ipAt(range, 0); next !== undefined; ) {
    const candidate = cidrOf(next, bits);
    if (!taken.some((cidr) => cidrsOverlap(cidr, candidate))) return formatCidr(candidate);
    next = ipAt(range, candidate.last + 1n - range.first);
  }
  return undefined;
}
