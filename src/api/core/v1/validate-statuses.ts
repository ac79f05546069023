// What the statuses of the core kinds may say: of Services, claims, quotas, namespaces and replication controllers.
import type { Decoded } from '../../../apimachinery/decoded.ts';
import { forbidden, invalid, notSupported, required } from '../../../apimachinery/field-error.ts';
import { qualifiedNameErrors } from '../../../apimachinery/labels.ts';
import { tryParseQuantity } from '../../../apimachinery/quantity.ts';
import { ipErrors, isIp } from '../../../apimachinery/validation/addresses.ts';
import {
  type Errors,
  each,
  nonNegative,
  notNegative,
  oneOf,
} from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';
import type {
  Namespace,
  PersistentVolumeClaim,
  ReplicationController,
  ResourceQuota,
  Service,
} from '../../generated/types/core-v1.ts';
import type { Quantity } from '../../generated/types/meta-v1.ts';

interface Entry {
  readonly ip?: string | undefined;
  readonly hostname?: string | undefined;
}

/** Where a load balancer is reached, at `status.loadBalancer.ingress`; what was wrong before may stay. */
export function balancerEntryErrors(entries: readonly Entry[], before: readonly Entry[]): Errors {
  const known = new Set(before.map(({ ip = '' }) => ip));
  return entries.flatMap(({ ip = '', hostname = '' }, i) => {
    const at = `status.loadBalancer.ingress[${i}]`;
    return [
      ...(ip === '' || known.has(ip) ? [] : each(`${at}.ip`, ip, ipErrors)),
      ...(hostname === '' ? [] : each(`${at}.hostname`, hostname, dnsSubdomain)),
      ...(isIp(hostname)
        ? [invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address')]
        : []),
    ];
  });
}

export function validateServiceStatus({ spec, status }: Decoded<Service>, old: Decoded<Service>): Errors {
  const entries = status?.loadBalancer?.ingress ?? [];
  const field = 'status.loadBalancer.ingress';
  if (entries.length > 0 && spec?.type !== 'LoadBalancer')
    return [forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'")];
  const modes = entries.flatMap(({ ip = '', ipMode }, i): Errors => {
    const at = `${field}[${i}].ipMode`;
    if (ipMode === undefined) return ip === '' ? [] : [required(at, 'must be specified when `ip` is set')];
    if (ip === '') return [forbidden(at, 'may not be specified when `ip` is not set')];
    return oneOf(at, ipMode, ['Proxy', 'VIP']);
  });
  return [...balancerEntryErrors(entries, old.status?.loadBalancer?.ingress ?? []), ...modes];
}

type Counts<Name extends string> = Readonly<Partial<Record<Name, number | bigint | undefined>>>;

/** Counts of replicas: none below zero, none above all, no more available than ready. */
export function replicaCountErrors<Name extends string>(
  status: Counts<Name | 'replicas' | 'readyReplicas' | 'availableReplicas'>,
  names: readonly (Name | 'replicas' | 'readyReplicas' | 'availableReplicas')[],
  parts: readonly (Name | 'readyReplicas' | 'availableReplicas')[],
  ready = 'readyReplicas',
): Errors {
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status;
  const over = (name: string, value: number | bigint, what: string): Errors => [
    invalid(`status.${name}`, value, `cannot be greater than ${what}`),
  ];
  return [
    ...names.flatMap((name) => nonNegative(`status.${name}`, status[name])),
    ...parts.flatMap((name) => {
      const value = status[name] ?? 0;
      return value > replicas ? over(name, value, 'status.replicas') : [];
    }),
    ...(availableReplicas > readyReplicas ? over('availableReplicas', availableReplicas, ready) : []),
  ];
}

export const validateReplicationControllerStatus = ({
  status = {},
}: Decoded<ReplicationController>): Errors =>
  replicaCountErrors(
    status,
    ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas', 'observedGeneration'],
    ['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
  );

const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
];

/** Names without a domain, or of Kubernetes' own: only `storage` is one of a claim. */
function claimResourceErrors(field: string, name: string): Errors {
  const errors = each(field, name, qualifiedNameErrors);
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  return errors.length > 0 || !isNative || name === 'storage'
    ? errors
    : [notSupported(field, name, ['storage'])];
}

const nanos = 1_000_000_000n;

function amountErrors(field: string, amount: Quantity | undefined): Errors {
  const { nano } = tryParseQuantity(amount) ?? { nano: 0n };
  return nano < 0n ? [invalid(field, nano / nanos, 'must be a valid resource quantity')] : [];
}

export function validateClaimStatus({ status = {} }: Decoded<PersistentVolumeClaim>): Errors {
  const states = 'status.allocatedResourceStatuses';
  const amounts = 'status.allocatedResources';
  return [
    ...Object.entries(status.capacity ?? {}).flatMap(([name, amount]) =>
      amountErrors(`status.capacity[${name}]`, amount),
    ),
    ...Object.entries(status.allocatedResourceStatuses ?? {}).flatMap(([name, state = '']) => [
      ...claimResourceErrors(states, name),
      ...(resizeStates.includes(state) ? [] : [notSupported(states, name, resizeStates)]),
    ]),
    ...Object.entries(status.allocatedResources ?? {}).flatMap(([name, amount]) => {
      const errors = claimResourceErrors(amounts, name);
      return errors.length > 0 ? errors : amountErrors(`${amounts}[${name}]`, amount);
    }),
  ];
}

/** Of these there are only whole ones. */
const counted: ReadonlySet<string> = new Set([
  'configmaps',
  'persistentvolumeclaims',
  'pods',
  'replicationcontrollers',
  'resourcequotas',
  'secrets',
  'services',
  'services.loadbalancers',
  'services.nodeports',
]);

/** What a quota limits without a domain before it, besides huge pages. */
const limited: ReadonlySet<string> = new Set([
  ...counted,
  'cpu',
  'memory',
  'ephemeral-storage',
  ...['cpu', 'memory', 'storage', 'ephemeral-storage'].map((name) => `requests.${name}`),
  ...['cpu', 'memory', 'ephemeral-storage'].map((name) => `limits.${name}`),
]);

function quotaNameErrors(field: string, name: string): Errors {
  const errors = each(field, name, qualifiedNameErrors);
  if (name.includes('/') || limited.has(name) || /^(requests\.)?hugepages-/.test(name)) return errors;
  if (errors.length === 0 && name !== 'storage')
    errors.push(invalid(field, name, 'must be a standard resource type or fully qualified'));
  return [...errors, invalid(field, name, 'must be a standard resource for quota')];
}

/** Others' resources are whole, too, but for what is requested of them. */
const isWhole = (name: string): boolean =>
  counted.has(name) ||
  (name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.'));

export function quotaErrors(field: string, name: string, amount: Quantity | undefined): Errors {
  const { nano } = tryParseQuantity(amount) ?? { nano: 0n };
  const errors = quotaNameErrors(field, name);
  if (nano < 0n) errors.push(invalid(field, String(amount), notNegative));
  if (isWhole(name) && nano % nanos !== 0n) errors.push(invalid(field, String(amount), 'must be an integer'));
  return errors;
}

export const validateQuotaStatus = ({ status = {} }: Decoded<ResourceQuota>): Errors =>
  (['hard', 'used'] as const).flatMap((list) =>
    Object.entries(status[list] ?? {}).flatMap(([name, amount]) =>
      quotaErrors(`status.${list}[${name}]`, name, amount),
    ),
  );

export function validateNamespaceStatus({ metadata, status = {} }: Decoded<Namespace>): Errors {
  const { phase = '' } = status;
  const [expected, not] =
    metadata?.deletionTimestamp === undefined
      ? (['Active', ''] as const)
      : (['Terminating', 'not '] as const);
  return phase === expected
    ? []
    : [invalid('status.Phase', phase, `may only be '${expected}' if \`deletionTimestamp\` is ${not}empty`)];
}
