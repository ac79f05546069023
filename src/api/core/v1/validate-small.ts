// Endpoints, quotas, limit ranges and replication controllers.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { invalid, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { compareQuantities, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, ipErrors, isPort, portRange } from '../../../apimachinery/validation/names.ts';
import type {
  Endpoints,
  LimitRange,
  ReplicationController,
  ResourceQuota,
} from '../../generated/types/core-v1.ts';
import { replicasErrors, validateTemplate } from './validate-workload.ts';

export function validateEndpoints(endpoints: Decoded<Endpoints>): Errors {
  return (endpoints.subsets ?? []).flatMap((subset, i) => {
    const at = `subsets[${i}]`;
    const errors: Errors = [];
    const ready = subset.addresses ?? [];
    const notReady = subset.notReadyAddresses ?? [];
    if (ready.length + notReady.length === 0)
      errors.push(required(at, 'must specify `addresses` or `notReadyAddresses`'));
    for (const [list, name] of [
      [ready, 'addresses'],
      [notReady, 'notReadyAddresses'],
    ] as const)
      list.forEach((address, a) => {
        errors.push(...each(`${at}.${name}[${a}].ip`, address.ip ?? '', ipErrors));
      });
    const ports = subset.ports ?? [];
    ports.forEach((port, p) => {
      const name = port.name ?? '';
      if (ports.length > 1 && name === '') errors.push(required(`${at}.ports[${p}].name`));
      else if (name !== '') errors.push(...each(`${at}.ports[${p}].name`, name, dnsLabel));
      if (!isPort(port.port)) errors.push(invalid(`${at}.ports[${p}].port`, port.port ?? 0, portRange));
      errors.push(...oneOf(`${at}.ports[${p}].protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']));
    });
    return errors;
  });
}

/** What a quota with pod scopes may count: pods and what their containers ask for. */
const podScoped =
  /^(?:pods|count\/pods|cpu|memory|ephemeral-storage|(?:requests|limits)\.(?:cpu|memory|ephemeral-storage))$/;
const scopes: readonly string[] = [
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
];
const contradictions: readonly (readonly [string, string])[] = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];

function validateScopes(quota: Decoded<ResourceQuota>): Errors {
  const asked = quota.spec?.scopes ?? [];
  const errors: Errors = [];
  const names = Object.keys(quota.spec?.hard ?? {});
  for (const scope of asked) {
    if (!scopes.includes(scope)) {
      errors.push(invalid('spec.scopes', asked, 'unsupported scope'));
      continue;
    }
    // Pods without requests can only be counted.
    const counts = (name: string): boolean =>
      scope === 'BestEffort' ? name === 'pods' || name === 'count/pods' : podScoped.test(name);
    if (names.some((name) => !counts(name)))
      errors.push(invalid('spec.scopes', asked, 'unsupported scope applied to resource'));
  }
  for (const [a, b] of contradictions)
    if (asked.includes(a) && asked.includes(b))
      errors.push(invalid('spec.scopes', asked, 'conflicting scopes'));
  return errors;
}

export function validateResourceQuota(quota: Decoded<ResourceQuota>): Errors {
  const hard = Object.entries(quota.spec?.hard ?? {}).flatMap(([name, value]) => {
    const errors = qualifiedNameErrors(name).map((why) => invalid(`spec.hard[${name}]`, name, why));
    if ((tryParseQuantity(value)?.nano ?? 0n) < 0n)
      errors.push(invalid(`spec.hard[${name}]`, String(value), 'must be greater than or equal to 0'));
    return errors;
  });
  return [...hard, ...validateScopes(quota)];
}

type List = 'default' | 'defaultRequest' | 'max' | 'min';

export function validateLimitRange(range: Decoded<LimitRange>): Errors {
  return (range.spec?.limits ?? []).flatMap((item, i) => {
    const at = `spec.limits[${i}]`;
    const errors: Errors = [];
    const compare = (low: List, high: List, text: (lo: string, hi: string) => string, shown: List): void => {
      for (const [name, value] of Object.entries(item[low] ?? {})) {
        const [a, b] = [tryParseQuantity(value), tryParseQuantity(item[high]?.[name])];
        if (a && b && compareQuantities(a, b) > 0)
          errors.push(
            invalid(
              `${at}.${shown}[${name}]`,
              String(item[shown]?.[name]),
              text(String(value), String(item[high]?.[name])),
            ),
          );
      }
    };
    compare('min', 'max', (lo, hi) => `min value ${lo} is greater than max value ${hi}`, 'min');
    compare('default', 'max', (lo, hi) => `default value ${lo} is greater than max value ${hi}`, 'default');
    compare(
      'defaultRequest',
      'default',
      (lo, hi) => `default request value ${lo} is greater than default limit value ${hi}`,
      'defaultRequest',
    );
    return errors;
  });
}

export function validateReplicationController(rc: Decoded<ReplicationController>): Errors {
  const selector = rc.spec?.selector ?? {};
  const errors = replicasErrors(rc);
  if (Object.keys(selector).length === 0) errors.push(required('spec.selector'));
  const labels = rc.spec?.template?.metadata?.labels ?? {};
  if (Object.entries(selector).some(([k, v]) => labels[k] !== v))
    errors.push(
      invalid('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'),
    );
  return [...errors, ...validateTemplate(rc.spec?.template ?? {}, 'spec.template')];
}
