// Questions about ServiceCIDRs: which addresses they give, and whether others would go on giving them. Pure.
import type { IPAddress, ServiceCIDR } from '../api/generated/types/networking-v1.ts';
import { type Ipv4Cidr, parseIpv4, parseIpv4Cidr, sizeOfIpv4Cidr } from '../base/ipv4.ts';

export const prefixesOf = ({ spec }: ServiceCIDR): Ipv4Cidr[] =>
  (spec?.cidrs ?? []).map(parseIpv4Cidr).filter((cidr) => cidr !== undefined);

/** Without the network's own address and its broadcast address. */
export const addressesOf = (cidr: Ipv4Cidr): { readonly first: number; readonly last: number } => ({
  first: cidr.base + 1,
  last: cidr.base + sizeOfIpv4Cidr(cidr) - 2,
});

export function givesAddress(cidrs: readonly Ipv4Cidr[], ip: string): boolean {
  const value = parseIpv4(ip);
  if (value === undefined) return false;
  return cidrs.map(addressesOf).some(({ first, last }) => value >= first && value <= last);
}

export const isDeleted = ({ metadata }: ServiceCIDR): boolean => metadata?.deletionTimestamp !== undefined;

const contains = (outer: Ipv4Cidr, inner: Ipv4Cidr): boolean =>
  outer.bits <= inner.bits && inner.base >= outer.base && inner.base < outer.base + sizeOfIpv4Cidr(outer);

/** Addresses that nobody else's range would hold keep a ServiceCIDR from going: upstream's canDeleteCIDR. */
export function isNeeded(
  cidr: ServiceCIDR,
  all: readonly ServiceCIDR[],
  addresses: readonly IPAddress[],
): boolean {
  const others = all
    .filter((other) => other.metadata?.name !== cidr.metadata?.name && !isDeleted(other))
    .flatMap(prefixesOf);
  const own = prefixesOf(cidr);
  if (own.every((prefix) => others.some((other) => contains(other, prefix)))) return false;
  return addresses.some(({ metadata }) => {
    const { labels, name = '' } = metadata ?? {};
    return (
      labels?.['ipaddress.kubernetes.io/managed-by'] === 'ipallocator.k8s.io' &&
      givesAddress(own, name) &&
      !givesAddress(others, name)
    );
  });
}
