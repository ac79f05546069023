// Where cluster IPs come from: the ServiceCIDRs that are ready, as upstream's MultiCIDRServiceAllocator. Pure.
import type { ServiceCIDR } from '../../api/generated/types/networking-v1.ts';
import { type Cidr, formatCidr, formatIp } from '../../base/ip.ts';
import { addressesOf, isDeleted, prefixesOf } from '../../component-helpers/service-cidrs.ts';
import { type NumberRange, reservedBand } from './free-number.ts';

/** One that has no condition yet is ready: upstream's servers do not wait for a controller either. */
const isReady = ({ status }: ServiceCIDR): boolean =>
  (status?.conditions ?? []).find(({ type }) => type === 'Ready')?.status !== 'False';

/** Each prefix once, the server's own first. Of IPv4: Services have no other addresses yet. */
export function readyPrefixes(cidrs: readonly ServiceCIDR[]): Cidr[] {
  const place = (cidr: ServiceCIDR): number => (cidr.metadata?.name === 'kubernetes' ? 0 : 1);
  const prefixes = cidrs
    .filter((cidr) => isReady(cidr) && !isDeleted(cidr))
    .sort((a, b) => place(a) - place(b))
    .flatMap(prefixesOf)
    .filter(({ family }) => family === 4);
  return [...new Map(prefixes.map((prefix) => [formatCidr(prefix), prefix])).values()];
}

/** Of IPv4, whose addresses are numbers. */
export function rangeOf(prefix: Cidr): NumberRange {
  const addresses = addressesOf(prefix);
  const [first, last] = [Number(addresses.first), Number(addresses.last)];
  return { first, last, reserved: reservedBand(last - first + 1, 16, 256) };
}

export const addressAt = (number: number): string => formatIp({ family: 4, value: BigInt(number) });
