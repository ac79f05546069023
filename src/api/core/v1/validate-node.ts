// What a Node's spec may say, and what stays once it is set: its pod prefixes and its provider's name for it.
import type { JsonObject } from '../../../apimachinery/declaration.ts';
import { duplicate, forbidden, invalid } from '../../../apimachinery/field-error.ts';
import { objs, spec, status, str, strs } from '../../../apimachinery/json-access.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { cidrErrors } from '../../../apimachinery/validation/names.ts';
import { validateTaints } from './validate-scheduling.ts';

const isIpv6 = (cidr: string): boolean => cidr.includes(':');

export function validateNode(node: JsonObject): Errors {
  const errors = validateTaints(spec(node)['taints'], 'spec.taints');
  const cidrs = strs(spec(node)['podCIDRs']);
  cidrs.forEach((cidr, i) => {
    if (cidrErrors(cidr).length > 0) errors.push(invalid(`spec.podCIDRs[${i}]`, cidrs, 'must be valid CIDR'));
  });
  const dualStack = cidrs.length === 2 && cidrs.some(isIpv6) && !cidrs.every(isIpv6);
  if (cidrs.length > 1 && !dualStack)
    errors.push(invalid('spec.podCIDRs', cidrs, 'may specify no more than one CIDR for each IP family'));
  return errors;
}

/** Beside the rules of every Node. */
export function validateNodeUpdate(node: JsonObject, old: JsonObject): Errors {
  const errors: Errors = [];
  const seen = new Set<string>();
  objs(status(node)['addresses']).forEach((address, i) => {
    const key = `${str(address['type'])}\n${str(address['address'])}`;
    if (seen.has(key)) errors.push(duplicate(`status.addresses[${i}]`, address));
    seen.add(key);
  });
  const now = strs(spec(node)['podCIDRs']);
  const before = strs(spec(old)['podCIDRs']);
  if (before.length > 0 && (now.length !== before.length || before.some((cidr, i) => cidr !== now[i])))
    errors.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  const provider = str(spec(old)['providerID']);
  if (provider !== '' && provider !== str(spec(node)['providerID']))
    errors.push(
      forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'),
    );
  if (str(spec(node)['externalID']) !== str(spec(old)['externalID']))
    errors.push(forbidden('spec.externalID', 'may not be updated'));
  return errors;
}
