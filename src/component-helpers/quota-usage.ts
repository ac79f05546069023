// What an object costs against a quota, and which quotas it falls under: pure.
import { podQosClass } from '../api/core/v1/pod-qos.ts';
import { podLimitAmounts, podRequestAmounts } from '../api/core/v1/pod-resources.ts';
import type {
  PersistentVolumeClaim,
  Pod,
  PodAffinityTerm,
  ResourceQuota,
  Service,
} from '../api/generated/types/core-v1.ts';
import type { JsonObject } from '../apimachinery/declaration.ts';
import {
  addQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
} from '../apimachinery/quantity.ts';

export type Usage = ReadonlyMap<string, Quantity>;

const add = (usage: Map<string, Quantity>, name: string, amount: Quantity): void => {
  const so = usage.get(name);
  usage.set(name, so === undefined ? amount : addQuantities(so, amount));
};

export function addUsage(a: Usage, b: Usage): Usage {
  const sum = new Map(a);
  for (const [name, amount] of b) add(sum, name, amount);
  return sum;
}

/** What `usage` has more than `before`: what shrinks frees nothing before it is stored. */
export const usageGrowth = (usage: Usage, before: Usage): Usage =>
  new Map(
    [...usage].flatMap(([name, amount]) => {
      const nano = amount.nano - (before.get(name)?.nano ?? 0n);
      return nano > 0n ? [[name, { nano, format: amount.format }]] : [];
    }),
  );

export const isFinished = (pod: Pod): boolean =>
  pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';

const shared = ['cpu', 'memory', 'ephemeral-storage'];
const one = quantityOf(1);

export function podUsage(pod: Pod): Usage {
  const usage = new Map<string, Quantity>([['count/pods', one]]);
  if (isFinished(pod)) return usage;
  usage.set('pods', one);
  for (const [name, amount] of podRequestAmounts(pod)) {
    usage.set(`requests.${name}`, amount);
    if (shared.includes(name)) usage.set(name, amount);
  }
  for (const [name, amount] of podLimitAmounts(pod)) {
    if (shared.includes(name)) usage.set(`limits.${name}`, amount);
  }
  return usage;
}

export function serviceUsage(service: Service): Usage {
  const usage = new Map<string, Quantity>([
    ['count/services', one],
    ['services', one],
  ]);
  const ports = quantityOf(service.spec?.ports?.length ?? 0);
  const type = service.spec?.type;
  if (type === 'LoadBalancer') usage.set('services.loadbalancers', one);
  if (
    type === 'NodePort' ||
    (type === 'LoadBalancer' && service.spec?.allocateLoadBalancerNodePorts !== false)
  ) {
    usage.set('services.nodeports', ports);
  }
  return usage;
}

export function claimUsage(claim: PersistentVolumeClaim): Usage {
  const usage = new Map<string, Quantity>([
    ['count/persistentvolumeclaims', one],
    ['persistentvolumeclaims', one],
  ]);
  const className = claim.spec?.storageClassName;
  const storage = (
    claim.spec?.resources?.requests as Readonly<Record<string, string | number>> | undefined
  )?.['storage'];
  const prefix = className === undefined ? undefined : `${className}.storageclass.storage.k8s.io`;
  if (prefix !== undefined) usage.set(`${prefix}/persistentvolumeclaims`, one);
  if (storage === undefined) return usage;
  usage.set('requests.storage', parseQuantity(storage));
  if (prefix !== undefined) usage.set(`${prefix}/requests.storage`, parseQuantity(storage));
  return usage;
}

/** Names without `count/` that upstream knows of old. */
const named = ['configmaps', 'secrets', 'replicationcontrollers', 'resourcequotas'];
/** What these use is more than their number. */
const detailed = ['pods', 'services', 'persistentvolumeclaims'];

export interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** The resource whose number a name like `count/jobs.batch` or `secrets` is; undefined for sums of amounts. */
export function countedResource(name: string): GroupResource | undefined {
  if (named.includes(name)) return { group: '', resource: name };
  if (!name.startsWith('count/')) return undefined;
  const counted = name.slice('count/'.length);
  const dot = counted.indexOf('.');
  return dot < 0
    ? { group: '', resource: counted }
    : { group: counted.slice(dot + 1), resource: counted.slice(0, dot) };
}

/** Those that the quota counts by their number alone. */
export const countedResources = (quota: ResourceQuota): GroupResource[] =>
  Object.keys(quota.spec?.hard ?? {}).flatMap((name) => {
    const counted = countedResource(name);
    return counted === undefined || (counted.group === '' && detailed.includes(counted.resource))
      ? []
      : [counted];
  });

export function countUsage(group: string, resource: string): Usage {
  const usage = new Map<string, Quantity>([[`count/${resource}${group === '' ? '' : `.${group}`}`, one]]);
  if (group === '' && named.includes(resource)) usage.set(resource, one);
  return usage;
}

function matchesScope(pod: Pod, scope: string, operator: string, values: readonly string[]): boolean {
  switch (scope) {
    case 'Terminating':
      return pod.spec.activeDeadlineSeconds !== undefined;
    case 'NotTerminating':
      return pod.spec.activeDeadlineSeconds === undefined;
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'PriorityClass': {
      const name = pod.spec.priorityClassName ?? '';
      if (operator === 'Exists') return name !== '';
      if (operator === 'DoesNotExist') return name === '';
      return operator === 'In' ? values.includes(name) : !values.includes(name);
    }
    case 'CrossNamespacePodAffinity':
      return affinityTerms(pod).some(
        (term) => (term.namespaces ?? []).length > 0 || term.namespaceSelector !== undefined,
      );
    default:
      return false;
  }
}

const affinityTerms = ({ spec }: Pod): PodAffinityTerm[] =>
  [spec.affinity?.podAffinity, spec.affinity?.podAntiAffinity].flatMap((affinity) => [
    ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((w) => w.podAffinityTerm),
  ]);

const isBestEffort = (pod: Pod): boolean => podQosClass(pod as unknown as JsonObject) === 'BestEffort';

/** What is left of a pod when only scopes are to look at it. */
export function quotaShape({ spec }: Pod): Pod {
  const { activeDeadlineSeconds, priorityClassName, affinity, resources, containers, initContainers } = spec;
  const bare = (list: typeof containers): typeof containers =>
    list.map(({ name, resources }) => (resources === undefined ? { name } : { name, resources }));
  return {
    metadata: {},
    spec: {
      ...(activeDeadlineSeconds === undefined ? {} : { activeDeadlineSeconds }),
      ...(priorityClassName === undefined ? {} : { priorityClassName }),
      ...(affinity === undefined ? {} : { affinity }),
      ...(resources === undefined ? {} : { resources }),
      containers: bare(containers),
      ...(initContainers === undefined ? {} : { initContainers: bare(initContainers) }),
    },
  } as Pod;
}

export interface ScopeRequirement {
  readonly scopeName: string;
  readonly operator: string;
  readonly values?: readonly string[] | undefined;
}

export const quotaScopes = ({ spec }: ResourceQuota): readonly ScopeRequirement[] => [
  ...(spec?.scopes ?? []).map((scopeName) => ({ scopeName, operator: 'Exists' })),
  ...(spec?.scopeSelector?.matchExpressions ?? []),
];

/** Those that the pod is in. */
export const matchingScopes = (pod: Pod, scopes: readonly ScopeRequirement[]): ScopeRequirement[] =>
  scopes.filter(({ scopeName, operator, values = [] }) => matchesScope(pod, scopeName, operator, values));

/** A quota with scopes is for pods that fit all of them. */
export function isUnderQuota(quota: ResourceQuota, pod: Pod | undefined): boolean {
  const scopes = quotaScopes(quota);
  if (scopes.length === 0) return true;
  return pod !== undefined && matchingScopes(pod, scopes).length === scopes.length;
}

/** `pods=1,requests.cpu=100m`, sorted by name. */
export const usageText = (usage: Usage): string =>
  [...usage]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, amount]) => `${name}=${formatQuantity(amount)}`)
    .join(',');
