// Endpoints, quotas, limit ranges and replication controllers.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { duplicate, forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { compareQuantities, type Quantity, tryParseQuantity } from '../../../apimachinery/quantity.ts';
import { ipErrors, specialIpErrors } from '../../../apimachinery/validation/addresses.ts';
import type { Errors } from '../../../apimachinery/validation/checks.ts';
import { each, oneOf, optional } from '../../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain, isPort, portRange } from '../../../apimachinery/validation/names.ts';
import type {
  EndpointAddress,
  Endpoints,
  LimitRange,
  LimitRangeItem,
  ReplicationController,
  ResourceQuota,
} from '../../generated/types/core-v1.ts';
import { validateContainerResourceName } from './validate-resources.ts';
import { quotaErrors } from './validate-statuses.ts';
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
        errors.push(...addressErrors(address, `${at}.${name}[${a}]`));
      });
    const ports = subset.ports ?? [];
    ports.forEach((port, p) => {
      const name = port.name ?? '';
      if (ports.length > 1 && name === '') errors.push(required(`${at}.ports[${p}].name`));
      else if (name !== '') errors.push(...each(`${at}.ports[${p}].name`, name, dnsLabel));
      if (!isPort(port.port)) errors.push(invalid(`${at}.ports[${p}].port`, port.port ?? 0, portRange));
      if (!port.protocol) errors.push(required(`${at}.ports[${p}].protocol`));
      else errors.push(...oneOf(`${at}.ports[${p}].protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']));
    });
    return errors;
  });
}

function addressErrors({ ip = '', hostname, nodeName }: Decoded<EndpointAddress>, at: string): Errors {
  return [
    ...each(`${at}.ip`, ip, ipErrors),
    ...optional(`${at}.hostname`, hostname, dnsLabel),
    ...(nodeName === undefined ? [] : each(`${at}.nodeName`, nodeName, dnsSubdomain)),
    ...each(`${at}.ip`, ip, specialIpErrors),
  ];
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
  const hard = Object.entries(quota.spec?.hard ?? {}).flatMap(([name, amount]) =>
    quotaErrors(`spec.hard[${name}]`, name, amount),
  );
  return [...hard, ...validateScopes(quota)];
}

type List = 'default' | 'defaultRequest' | 'max' | 'maxLimitRequestRatio' | 'min';
type Item = Decoded<LimitRangeItem>;

const limitTypes = ['Container', 'PersistentVolumeClaim', 'Pod'];
const one = 1_000_000_000n;

function limitTypeErrors(field: string, type: string): Errors {
  const errors = each(field, type, qualifiedNameErrors);
  if (errors.length > 0 || type.includes('/') || limitTypes.includes(type)) return errors;
  return [invalid(field, type, 'must be a standard limit type or fully qualified')];
}

/** Each pair of a lower and an upper bound: where it is told, of whose value, in which words. */
const bounds: readonly (readonly [low: List, high: List, field: List, shown: List, words: string])[] = [
  ['min', 'max', 'min', 'min', 'min value < is greater than max value >'],
  [
    'min',
    'defaultRequest',
    'defaultRequest',
    'defaultRequest',
    'min value < is greater than default request value >',
  ],
  [
    'defaultRequest',
    'max',
    'defaultRequest',
    'defaultRequest',
    'default request value < is greater than max value >',
  ],
  [
    'defaultRequest',
    'default',
    'defaultRequest',
    'defaultRequest',
    'default request value < is greater than default limit value >',
  ],
  ['min', 'default', 'default', 'min', 'min value < is greater than default value >'],
  ['default', 'max', 'default', 'max', 'default value < is greater than max value >'],
];

function boundErrors(item: Item, at: string, name: string): Errors {
  const amount = (list: List): Quantity | undefined => tryParseQuantity(item[list]?.[name]);
  const errors: Errors = bounds.flatMap(([low, high, field, shown, words]) => {
    const [a, b] = [amount(low), amount(high)];
    return a !== undefined && b !== undefined && compareQuantities(a, b) > 0
      ? [
          invalid(
            `${at}.${field}[${name}]`,
            String(item[shown]?.[name]),
            words.replace('<', String(item[low]?.[name])).replace('>', String(item[high]?.[name])),
          ),
        ]
      : [];
  });
  const [ratio, min, max] = [amount('maxLimitRequestRatio'), amount('min'), amount('max')];
  const field = `${at}.maxLimitRequestRatio[${name}]`;
  const shown = String(item.maxLimitRequestRatio?.[name]);
  if (ratio !== undefined && ratio.nano < one)
    errors.push(invalid(field, shown, `ratio ${shown} is less than 1`));
  if (ratio !== undefined && min !== undefined && max !== undefined) {
    const widest = Number(max.nano) / Number(min.nano);
    if (Number(ratio.nano) / Number(one) > widest)
      errors.push(invalid(field, shown, `ratio ${shown} is greater than max/min = ${widest.toFixed(6)}`));
  }
  return errors;
}

function limitErrors(item: Item, at: string): Errors {
  const { type = '' } = item;
  const errors = limitTypeErrors(`${at}.type`, type);
  const ofPods = type === 'Pod' || type === 'Container';
  const lists: readonly List[] = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'];
  for (const list of lists) {
    const names = Object.keys(item[list] ?? {});
    if (type === 'Pod' && (list === 'default' || list === 'defaultRequest')) {
      if (names.length > 0)
        errors.push(forbidden(`${at}.${list}`, "may not be specified when `type` is 'Pod'"));
      continue;
    }
    if (ofPods)
      for (const name of names) errors.push(...validateContainerResourceName(`${at}.${list}[${name}]`, name));
  }
  if (type === 'PersistentVolumeClaim' && item.min?.storage === undefined && item.max?.storage === undefined)
    errors.push(
      required(
        `${at}.limits`,
        'either minimum or maximum storage value is required, but neither was provided',
      ),
    );
  const names = new Set(lists.flatMap((list) => Object.keys(item[list] ?? {})));
  for (const name of [...names].sort()) errors.push(...boundErrors(item, at, name));
  return errors;
}

export function validateLimitRange(range: Decoded<LimitRange>): Errors {
  const types = new Set<string>();
  return (range.spec?.limits ?? []).flatMap((item, i) => {
    const at = `spec.limits[${i}]`;
    const type = item.type ?? '';
    const again: Errors = types.has(type) ? [duplicate(`${at}.type`, type)] : [];
    types.add(type);
    return [...again, ...limitErrors(item, at)];
  });
}

export function validateReplicationController(rc: Decoded<ReplicationController>): Errors {
  const selector = rc.spec?.selector ?? {};
  const podSpec = rc.spec?.template?.spec ?? {};
  const errors = replicasErrors(rc);
  if (Object.keys(selector).length === 0) errors.push(required('spec.selector'));
  const labels = rc.spec?.template?.metadata?.labels ?? {};
  if (Object.entries(selector).some(([k, v]) => labels[k] !== v))
    errors.push(
      invalid('spec.template.metadata.labels', labels, '`selector` does not match template `labels`'),
    );
  errors.push(...validateTemplate(rc.spec?.template ?? {}, 'spec.template'));
  if (podSpec.restartPolicy !== 'Always')
    errors.push(notSupported('spec.template.spec.restartPolicy', podSpec.restartPolicy ?? '', ['Always']));
  if (podSpec.activeDeadlineSeconds !== undefined)
    errors.push(
      forbidden(
        'spec.template.spec.activeDeadlineSeconds',
        'activeDeadlineSeconds in ReplicationController is not Supported',
      ),
    );
  return errors;
}
