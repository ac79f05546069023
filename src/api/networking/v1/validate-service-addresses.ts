// ServiceCIDRs, and the IPAddresses that Services take of them.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { isObject, spec, str, strs } from '../../../apimachinery/json-access.ts';
import { type Errors, each, unchanged } from '../../../apimachinery/validation/checks.ts';
import {
  cidrErrors,
  dnsSubdomain,
  isIPv4,
  isIPv6,
  pathSegment,
} from '../../../apimachinery/validation/names.ts';

export function validateIpAddress(address: JsonObject): Errors {
  const at = 'spec.parentRef';
  const parent = spec(address)['parentRef'];
  if (!isObject(parent)) return [required(at)];
  const errors: Errors = [];
  if (str(parent['group']) !== '') errors.push(...each(`${at}.group`, parent['group'], dnsSubdomain));
  for (const field of ['resource', 'name'])
    if (str(parent[field]) === '') errors.push(required(`${at}.${field}`));
    else errors.push(...each(`${at}.${field}`, parent[field], pathSegment));
  if (str(parent['namespace']) !== '')
    errors.push(...each(`${at}.namespace`, parent['namespace'], pathSegment));
  return errors;
}

export const validateIpAddressUpdate = (address: JsonObject, old: JsonObject): Errors =>
  unchanged('spec.parentRef', spec(address)['parentRef'], spec(old)['parentRef']);

const addressOf = (cidr: string): string => cidr.slice(0, Math.max(cidr.indexOf('/'), 0));

export function validateServiceCidr(cidr: JsonObject): Errors {
  const at = 'spec.cidrs';
  const cidrs = strs(spec(cidr)['cidrs']);
  if (cidrs.length === 0) return [required(at, 'at least one CIDR required')];
  if (cidrs.length > 2) return [invalid(at, spec(cidr), 'may only hold up to 2 values')];
  const [first = '', second] = cidrs.map(addressOf);
  if (second !== undefined && !((isIPv4(first) && isIPv6(second)) || (isIPv6(first) && isIPv4(second))))
    return [
      invalid(
        at,
        spec(cidr),
        'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ),
    ];
  return cidrs.flatMap((text, i) => each(`${at}[${i}]`, text, cidrErrors));
}

export const validateServiceCidrUpdate = (cidr: JsonObject, old: JsonObject): Errors =>
  unchanged('spec.cidrs', spec(cidr)['cidrs'], spec(old)['cidrs']);
