// Where cluster IPs come from: the ServiceCIDRs that are ready, as upstream's MultiCIDRServiceAllocator. Pure.
import type { ServiceCIDR } from '../../api/generated/types/networking-v1.ts';
import { formatIpv4Cidr, type Ipv4Cidr } from '../../base/ipv4.ts';
import { addressesOf, isDeleted, prefixesOf } from '../../component-helpers/service-cidrs.ts';
import { type NumberRange, reservedBand } from './free-number.ts';

/** One that has no condition yet is ready: upstream's servers do not wait for a controller either. */
const isReady = ({ status }: ServiceCIDR): boolean =>
  (status?.conditions ?? []).find(({ type }) => type === 'Ready')?.status !== 'False';

/** Each prefix once, the server's own first. */
export function readyPrefixes(cidrs: readonly ServiceCIDR[]): Ipv4Cidr[] {
  const place = (cidr: ServiceCIDR): number => (cidr.metadata?.name === 'kubernetes' ? 0 : 1);
  const prefixes = cidrs
    .filter((cidr) => isReady(cidr) && !isDeleted(cidr))
    .sort((a, b) => place(a) - place(b))
    .flatMap(prefixesOf);
  return [...new Map(prefixes.map((prefix) => [formatIpv4Cidr(prefix), prefix])).values()];
}

export function rangeOf(prefix: Ipv4Cidr): NumberRange {
  const { first, last } = addressesOf(prefix);
  return { first, last, reserved: reservedBand(last - first + 1, 16, 256) };
}
