// Requests and limits of containers: known names, sane amounts, requests within limits.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import type { Quantity } from '../../../apimachinery/quantity.ts';
import { compareQuantities, formatQuantity, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { notNegative } from '../../../apimachinery/validation/checks.ts';
import type { Pod, PodSpec, ResourceRequirements } from '../../generated/types/core-v1.ts';
import type { Quantity as Amount } from '../../generated/types/meta-v1.ts';
import { isHugePages, isPodLevelResource, podLimitAmounts, podRequestAmounts } from './pod-resources.ts';

/** As it is written: `500m`. */
type Amounts = Readonly<Record<string, Amount | undefined>>;

const standard = new Set(['cpu', 'memory', 'ephemeral-storage']);
const isExtended = (name: string): boolean =>
  name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
/** Whole units only: everything but what the node itself divides. */
const isInteger = (name: string): boolean => !standard.has(name);

export function validateQuantity(field: string, value: Amount | undefined, name: string): Errors {
  const quantity = tryParseQuantity(value);
  if (!quantity) return [];
  if (quantity.nano < 0n) return [invalid(field, String(value), notNegative)];
  if (isInteger(name) && quantity.nano % 1_000_000_000n !== 0n)
    return [invalid(field, String(value), 'must be an integer')];
  return [];
}

/** Which names are taken, as a check of one. */
type NameErrors = (field: string, name: string) => Errors;

export function validateContainerResourceName(field: string, name: string): Errors {
  const errors = qualifiedNameErrors(name).map((why) => invalid(field, name, why));
  if (errors.length > 0) return errors;
  if (!name.includes('/'))
    return standard.has(name) || isHugePages(name)
      ? []
      : [invalid(field, name, 'must be a standard resource for containers')];
  const native = name.includes('kubernetes.io/');
  return native || isExtended(name)
    ? []
    : [invalid(field, name, "doesn't follow extended resource name standard")];
}

function podNameErrors(field: string, name: string): Errors {
  const errors = qualifiedNameErrors(name).map((why) => invalid(field, name, why));
  if (errors.length > 0) return errors;
  return isPodLevelResource(name) ? [] : [notSupported(field, name, ['cpu', 'hugepages-', 'memory'])];
}

/** `spec.resources`: what a pod has as a whole covers what its containers ask for, and no container has more. */
export function validatePodResources(field: string, podSpec: Decoded<PodSpec>): Errors {
  const resources = podSpec.resources ?? {};
  const errors = validateResources(field, resources, undefined, podNameErrors);
  const pod = { metadata: {}, spec: podSpec } as unknown as Pod;
  const together = { excludePodLevel: true, excludeOverhead: true };
  const covers = (list: 'requests' | 'limits', amounts: ReadonlyMap<string, Quantity>): void => {
    for (const [name, amount] of [...amounts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const given = isPodLevelResource(name) ? tryParseQuantity(resources[list]?.[name]) : undefined;
      if (given && compareQuantities(amount, given) > 0)
        errors.push(
          invalid(
            `${field}.${list}[${name}]`,
            formatQuantity(given),
            `must be greater than or equal to aggregate container ${list} of ${formatQuantity(amount)}`,
          ),
        );
    }
  };
  covers('requests', podRequestAmounts(pod, together));
  covers('limits', new Map([...podLimitAmounts(pod, together)].filter(([name]) => isHugePages(name))));
  (podSpec.containers ?? []).forEach((container, i) => {
    const limits = container.resources?.limits ?? {};
    for (const name of Object.keys(limits).sort()) {
      const own = tryParseQuantity(limits[name]);
      const given = tryParseQuantity(resources.limits?.[name]);
      if (own && given && compareQuantities(own, given) > 0)
        errors.push(
          invalid(
            `${field}.containers[${i}][${name}].limits`,
            formatQuantity(own),
            `must be less than or equal to pod limits of ${formatQuantity(given)}`,
          ),
        );
    }
  });
  return errors;
}

export function validateResources(
  field: string,
  resources: Decoded<ResourceRequirements>,
  claims?: ReadonlySet<string>,
  names: NameErrors = validateContainerResourceName,
): Errors {
  const errors: Errors = [];
  const limits = resources.limits ?? {};
  const requests = resources.requests ?? {};
  for (const name of Object.keys(limits).sort()) {
    errors.push(
      ...names(`${field}.limits`, name),
      ...validateQuantity(`${field}.limits[${name}]`, limits[name], name),
    );
  }
  for (const name of Object.keys(requests).sort()) {
    errors.push(
      ...names(`${field}.requests`, name),
      ...validateQuantity(`${field}.requests[${name}]`, requests[name], name),
    );
    errors.push(...withinLimit(field, name, requests[name], limits));
  }
  for (const name of Object.keys(limits))
    if (
      isHugePages(name) &&
      !('cpu' in requests) &&
      !('memory' in requests) &&
      !('cpu' in limits) &&
      !('memory' in limits)
    ) {
      errors.push({
        type: 'FieldValueForbidden',
        field,
        message: 'Forbidden: HugePages require cpu or memory',
      });
      break;
    }
  const claimed = new Set<string>();
  (resources.claims ?? []).forEach((claim, i) => {
    const name = claim.name ?? '';
    if (name === '') errors.push(required(`${field}.claims[${i}]`));
    else if (claimed.has(`${name}/${claim.request ?? ''}`))
      errors.push(duplicate(`${field}.claims[${i}]`, name));
    else if (claims && !claims.has(name))
      errors.push({
        type: 'FieldValueNotFound',
        field: `${field}.claims[${i}].name`,
        message: `Not found: ${JSON.stringify(name)}`,
      });
    claimed.add(`${name}/${claim.request ?? ''}`);
  });
  return errors;
}

function withinLimit(field: string, name: string, value: Amount | undefined, limits: Amounts): Errors {
  const request = tryParseQuantity(value);
  const limit: Quantity | undefined = Object.hasOwn(limits, name)
    ? tryParseQuantity(limits[name])
    : undefined;
  const extended = isExtended(name) || isHugePages(name);
  if (!limit)
    return extended
      ? [required(`${field}.limits`, 'Limit must be set for non overcommitable resources')]
      : [];
  if (!request) return [];
  if (extended && compareQuantities(request, limit) !== 0)
    return [
      invalid(
        `${field}.requests`,
        String(value),
        `must be equal to ${name} limit of ${String(limits[name])}`,
      ),
    ];
  if (compareQuantities(request, limit) > 0)
    return [
      invalid(
        `${field}.requests`,
        String(value),
        `must be less than or equal to ${name} limit of ${String(limits[name])}`,
      ),
    ];
  return [];
}

/** Names of the claims that a pod's containers may use. */
export const claimNames = (podSpec: Decoded<PodSpec>): ReadonlySet<string> =>
  new Set((podSpec.resourceClaims ?? []).map((c) => c.name ?? ''));
