// Questions about ServiceCIDRs: which addresses they give, and whether others would go on giving them. Pure.
import type { IPAddress, ServiceCIDR } from '../api/generated/types/networking-v1.ts';
import { type Cidr, isWithin, parseCidr, parseIp } from '../base/ip.ts';

export const prefixesOf = ({ spec }: ServiceCIDR): Cidr[] =>
  (spec?.cidrs ?? []).map(parseCidr).filter((cidr) => cidr !== undefined);

/** Without the network's own address and IPv4's broadcast address. */
export const addressesOf = ({
  family,
  first,
  last,
}: Cidr): { readonly first: bigint; readonly last: bigint } => ({
  first: first + 1n,
  last: family === 4 ? last - 1n : last,
});

export function givesAddress(cidrs: readonly Cidr[], text: string): boolean {
  const ip = parseIp(text);
  if (ip === undefined || ip.zone !== undefined) return false;
  return cidrs
    .filter(({ family }) => family === ip.family)
    .map(addressesOf)
    .some(({ first, last }) => ip.value >= first && ip.value <= last);
}

export const isDeleted = ({ metadata }: ServiceCIDR): boolean => metadata?.deletionTimestamp !== undefined;

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
  if (own.every((prefix) => others.some((other) => isWithin(prefix, other)))) return false;
  return addresses.some(({ metadata }) => {
    const { labels, name = '' } = metadata ?? {};
    return (
      labels?.['ipaddress.kubernetes.io/managed-by'] === 'ipallocator.k8s.io' &&
      givesAddress(own, name) &&
      !givesAddress(others, name)
    );
  });
}
