// ServiceCIDRs, and the IPAddresses that Services take of them.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { canonicalCidrErrors } from '../../../apimachinery/validation/addresses.ts';
import {
  type Errors,
  each,
  immutable,
  named,
  optional,
  unchanged,
} from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain, pathSegment } from '../../../apimachinery/validation/names.ts';
import { parseCidr } from '../../../base/ip.ts';
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

export function validateServiceCidr(cidr: Decoded<ServiceCIDR>): Errors {
  const at = 'spec.cidrs';
  const cidrs = cidr.spec?.cidrs ?? [];
  if (cidrs.length === 0) return [required(at, 'at least one CIDR required')];
  if (cidrs.length > 2) return [invalid(at, cidr.spec ?? {}, 'may only hold up to 2 values')];
  const errors = cidrs.flatMap((text, i) => each(`${at}[${i}]`, text, canonicalCidrErrors));
  const [first, second] = cidrs.map((text) => parseCidr(text)?.family);
  if (first !== undefined && first === second)
    errors.push(
      invalid(
        at,
        cidrs,
        'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ),
    );
  return errors;
}

/** A prefix of the other family may come; what is there stays. */
export function validateServiceCidrUpdate(cidr: Decoded<ServiceCIDR>, old: Decoded<ServiceCIDR>): Errors {
  const at = 'spec.cidrs';
  const [now, before] = [cidr.spec?.cidrs ?? [], old.spec?.cidrs ?? []];
  const grows = before.length === 1 && now.length === 2;
  if (now.length !== before.length && !grows) return [invalid(at, now, immutable)];
  return [
    ...before.flatMap((text, i) => unchanged(`${at}[${i}]`, now[i], text)),
    ...(grows ? validateServiceCidr(cidr) : []),
  ];
}
