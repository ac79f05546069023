// ServiceCIDRs, and the IPAddresses that Services take of them.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { type Errors, each, named, optional, unchanged } from '../../../apimachinery/validation/checks.ts';
import {
  cidrErrors,
  dnsSubdomain,
  isIPv4,
  isIPv6,
  pathSegment,
} from '../../../apimachinery/validation/names.ts';
import type { IPAddress, ServiceCIDR } from '../../generated/types/networking-v1.ts';

export function validateIpAddress(address: Decoded<IPAddress>): Errors {
  const at = 'spec.parentRef';
  const parent = address.spec?.parentRef;
  if (parent === undefined) return [required(at)];
  return [
    ...optional(`${at}.group`, parent.group, dnsSubdomain),
    ...named(`${at}.resource`, parent.resource, pathSegment),
    ...named(`${at}.name`, parent.name, pathSegment),
    ...optional(`${at}.namespace`, parent.namespace, pathSegment),
  ];
}

export const validateIpAddressUpdate = (address: Decoded<IPAddress>, old: Decoded<IPAddress>): Errors =>
  unchanged('spec.parentRef', address.spec?.parentRef, old.spec?.parentRef);

const addressOf = (cidr: string): string => cidr.slice(0, Math.max(cidr.indexOf('/'), 0));

export function validateServiceCidr(cidr: Decoded<ServiceCIDR>): Errors {
  const at = 'spec.cidrs';
  const cidrs = cidr.spec?.cidrs ?? [];
  if (cidrs.length === 0) return [required(at, 'at least one CIDR required')];
  if (cidrs.length > 2) return [invalid(at, cidr.spec ?? {}, 'may only hold up to 2 values')];
  const [first = '', second] = cidrs.map(addressOf);
  if (second !== undefined && !((isIPv4(first) && isIPv6(second)) || (isIPv6(first) && isIPv4(second))))
    return [
      invalid(
        at,
        cidr.spec ?? {},
        'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ),
    ];
  return cidrs.flatMap((text, i) => each(`${at}[${i}]`, text, cidrErrors));
}

export const validateServiceCidrUpdate = (cidr: Decoded<ServiceCIDR>, old: Decoded<ServiceCIDR>): Errors =>
  unchanged('spec.cidrs', cidr.spec?.cidrs, old.spec?.cidrs);
