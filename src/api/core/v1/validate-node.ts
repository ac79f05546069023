// What a Node's spec may say, and what stays once it is set: its pod prefixes and its provider's name for it.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, forbidden, invalid } from '../../../apimachinery/field-error.ts';
import { cidrErrors } from '../../../apimachinery/validation/addresses.ts';
import { type Errors, each, repeated } from '../../../apimachinery/validation/checks.ts';
import { parseCidr } from '../../../base/ip.ts';
import type { Node } from '../../generated/types/core-v1.ts';
import { validateQuantity } from './validate-resources.ts';
import { validateTaints } from './validate-scheduling.ts';

const isIpv6 = (cidr: string): boolean => parseCidr(cidr)?.family === 6;

export function validateNode(node: Decoded<Node>): Errors {
  // Upstream looks for the taints among the metadata.
  const errors = [...validateTaints(node.spec?.taints, 'metadata.taints'), ...amountErrors(node)];
  const cidrs = node.spec?.podCIDRs ?? [];
  cidrs.forEach((cidr, i) => {
    errors.push(...each(`spec.podCIDRs[${i}]`, cidr, cidrErrors));
  });
  const dualStack = cidrs.length === 2 && cidrs.some(isIpv6) && !cidrs.every(isIpv6);
  if (cidrs.length > 1 && !dualStack)
    errors.push(invalid('spec.podCIDRs', cidrs, 'may specify no more than one CIDR for each IP family'));
  for (const i of repeated(cidrs)) errors.push(duplicate(`spec.podCIDRs[${i}]`, cidrs[i]!));
  return errors;
}

const amountErrors = ({ status = {} }: Decoded<Node>): Errors =>
  (['capacity', 'allocatable'] as const).flatMap((list) =>
    Object.entries(status[list] ?? {}).flatMap(([name, amount]) =>
      validateQuantity(`status.${list}.${name}`, amount, name),
    ),
  );

/** Beside the rules of every Node, which are not asked of its status. */
export function validateNodeUpdate(
  node: Decoded<Node>,
  old: Decoded<Node>,
  { subresource }: { readonly subresource: string },
): Errors {
  const errors: Errors = subresource === 'status' ? amountErrors(node) : [];
  const seen = new Set<string>();
  (node.status?.addresses ?? []).forEach((address, i) => {
    const key = `${address.type ?? ''}\n${address.address ?? ''}`;
    if (seen.has(key)) errors.push(duplicate(`status.addresses[${i}]`, address));
    seen.add(key);
  });
  const now = node.spec?.podCIDRs ?? [];
  const before = old.spec?.podCIDRs ?? [];
  if (before.length > 0 && (now.length !== before.length || before.some((cidr, i) => cidr !== now[i])))
    errors.push(forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid'));
  const provider = old.spec?.providerID ?? '';
  if (provider !== '' && provider !== (node.spec?.providerID ?? ''))
    errors.push(
      forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid'),
    );
  if ((node.spec?.externalID ?? '') !== (old.spec?.externalID ?? ''))
    errors.push(forbidden('spec.externalID', 'may not be updated'));
  return errors;
}
