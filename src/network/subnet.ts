// Picks a subnet that collides with nothing the machine already reaches.
import { formatIpv4Cidr, type Ipv4Cidr, ipv4CidrsOverlap, parseIpv4Cidr } from '../base/ipv4.ts';

/** The prefix of an address or route as `ip` prints it; undefined for `default` and IPv6. */
function usedPrefix(text: string): Ipv4Cidr | undefined {
  const cidr = parseIpv4Cidr(text.includes('/') ? text : `${text}/32`);
  return cidr === undefined || cidr.bits === 0 ? undefined : cidr;
}

/** The first subnet of `bits` in `pool` that overlaps none of `used`; undefined when the pool is full. */
export function freeSubnet(pool: string, bits: number, used: readonly string[]): string | undefined {
  const range = parseIpv4Cidr(pool);
  if (range === undefined || bits < range.bits || bits > 30)
    throw new Error(`${pool} has no subnets of length ${bits}`);
  const taken = used.map(usedPrefix).filter((cidr) => cidr !== undefined);
  const size = 2 ** (32 - bits);
  for (let i = 0; i < 2 ** (bits - range.bits); i++) {
    const candidate = { base: range.base + i * size, bits };
    if (!taken.some((cidr) => ipv4CidrsOverlap(cidr, candidate))) return formatIpv4Cidr(candidate);
  }
  return undefined;
}
