// LimitRanger: defaults, minima, maxima and ratios that a namespace sets for containers, pods and claims.
import { podLimits, podRequests } from '../../api/core/v1/pod-resources.ts';
import { limitranges, persistentvolumeclaims, pods } from '../../api/generated/resources.ts';
import type { Container, LimitRangeItem, Pod } from '../../api/generated/types/core-v1.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import {
  compareQuantities,
  formatQuantity,
  isZeroQuantity,
  parseQuantity,
  type Quantity,
} from '../../apimachinery/quantity.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import { requested } from './request/typed-request.ts';

type Amounts = Readonly<Record<string, string | number | undefined>>;
interface Usage {
  readonly requests: Amounts;
  readonly limits: Amounts;
}

const amountOf = (amounts: Amounts | undefined, name: string): Quantity | undefined =>
  amounts !== undefined && Object.hasOwn(amounts, name) && amounts[name] !== undefined
    ? parseQuantity(amounts[name])
    : undefined;

function minimum(item: LimitRangeItem, usage: Usage): string[] {
  return Object.entries(item.min ?? {}).flatMap(([name, least]) => {
    const bound = parseQuantity(least ?? '0');
    const says = `minimum ${name} usage per ${item.type} is ${formatQuantity(bound)}`;
    const request = amountOf(usage.requests, name);
    const limit = amountOf(usage.limits, name);
    if (request === undefined) return [`${says}.  No request is specified`];
    if (compareQuantities(request, bound) < 0) return [`${says}, but request is ${formatQuantity(request)}`];
    if (limit !== undefined && compareQuantities(limit, bound) < 0) {
      return [`${says}, but limit is ${formatQuantity(limit)}`];
    }
    return [];
  });
}

function maximum(item: LimitRangeItem, usage: Usage): string[] {
  return Object.entries(item.max ?? {}).flatMap(([name, most]) => {
    const bound = parseQuantity(most ?? '0');
    const says = `maximum ${name} usage per ${item.type} is ${formatQuantity(bound)}`;
    const request = amountOf(usage.requests, name);
    const limit = amountOf(usage.limits, name);
    if (limit === undefined) return [`${says}.  No limit is specified`];
    if (compareQuantities(limit, bound) > 0) return [`${says}, but limit is ${formatQuantity(limit)}`];
    if (request !== undefined && compareQuantities(request, bound) > 0) {
      return [`${says}, but request is ${formatQuantity(request)}`];
    }
    return [];
  });
}

function ratio(item: LimitRangeItem, usage: Usage): string[] {
  return Object.entries(item.maxLimitRequestRatio ?? {}).flatMap(([name, most]) => {
    const bound = parseQuantity(most ?? '0');
    const says = `${name} max limit to request ratio per ${item.type} is ${formatQuantity(bound)}`;
    const request = amountOf(usage.requests, name);
    const limit = amountOf(usage.limits, name);
    if (request === undefined || isZeroQuantity(request)) {
      return [`${says}, but no request is specified or request is 0`];
    }
    if (limit === undefined || isZeroQuantity(limit)) {
      return [`${says}, but no limit is specified or limit is 0`];
    }
    const observed = Number(limit.nano) / Number(request.nano);
    return observed > Number(bound.nano) / 1e9
      ? [`${says}, but provided ratio is ${observed.toFixed(6)}`]
      : [];
  });
}

const check = (item: LimitRangeItem, usage: Usage): string[] => [
  ...minimum(item, usage),
  ...maximum(item, usage),
  ...ratio(item, usage),
];

const usageOf = (container: Container): Usage => ({
  requests: container.resources?.requests ?? {},
  limits: container.resources?.limits ?? {},
});

/** Of the pod as a whole, its own resources before its containers'. */
const podUsage = (pod: Pod): Usage => ({
  requests: podRequests(pod, { excludeOverhead: true }),
  limits: podLimits(pod, { excludeOverhead: true }),
});

/** As upstream: what a container does not say is taken from the range; a request follows its limit before that. */
function applyDefaults(container: Container, item: LimitRangeItem): string[] {
  const said: string[] = [];
  container.resources ??= {};
  const resources = container.resources;
  const setMissing = (kind: 'requests' | 'limits', defaults: Amounts | undefined): void => {
    const present = resources[kind] ?? {};
    const missing = Object.entries(defaults ?? {}).filter(([name]) => !Object.hasOwn(present, name));
    if (missing.length === 0) return;
    const added = missing.filter((e): e is [string, string | number] => e[1] !== undefined);
    resources[kind] = { ...present, ...Object.fromEntries(added) };
    said.push(`${missing.map(([name]) => name).join(', ')} ${kind === 'requests' ? 'request' : 'limit'}`);
  };
  setMissing('requests', { ...item.defaultRequest });
  setMissing('limits', item.default);
  return said;
}

export function createLimitRanger(live: LiveObjects): AdmissionPlugin {
  const itemsOf = (request: AdmissionRequest): LimitRangeItem[] =>
    live.list(limitranges, { namespace: request.namespace }).flatMap((range) => range.spec?.limits ?? []);

  const podErrors = (item: LimitRangeItem, pod: Pod): string[] => {
    const all = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])];
    if (item.type === 'Container') return all.flatMap((container) => check(item, usageOf(container)));
    return item.type === 'Pod' ? check(item, podUsage(pod)) : [];
  };

  return {
    name: 'LimitRanger',
    operations: ['CREATE', 'UPDATE'],
    admit(request) {
      const pod = requested(request, pods);
      if (pod === undefined || request.operation !== 'CREATE') return;
      const said: string[] = [];
      for (const item of itemsOf(request).filter((i) => i.type === 'Container')) {
        for (const [word, list] of [
          ['container', pod.spec?.containers ?? []],
          ['init container', pod.spec?.initContainers ?? []],
        ] as const) {
          for (const container of list) {
            const set = applyDefaults(container, item);
            if (set.length > 0) said.push(`${set.join('; ')} for ${word} ${container.name}`);
          }
        }
      }
      if (said.length === 0 || pod.metadata === undefined) return;
      pod.metadata.annotations = {
        ...pod.metadata.annotations,
        'kubernetes.io/limit-ranger': `LimitRanger plugin set: ${said.join('; ')}`,
      };
    },
    validate(request) {
      const pod = requested(request, pods);
      const claim = requested(request, persistentvolumeclaims);
      if (pod === undefined && claim === undefined) return;
      // As upstream: resources of a pod can't be updated here, and one that is going away is left alone.
      if (pod !== undefined && request.operation === 'UPDATE') return;
      const errors = itemsOf(request).flatMap((item) => {
        if (pod !== undefined) return podErrors(item, pod);
        if (item.type !== 'PersistentVolumeClaim') return [];
        const usage = { requests: claim?.spec?.resources?.requests ?? {}, limits: {} };
        return [
          ...minimum(item, usage),
          ...maximum(item, { requests: {}, limits: usage.requests }).map((text) =>
            text.replace('but limit is', 'but request is').replace('No limit', 'No request'),
          ),
        ];
      });
      if (errors.length > 0) {
        const text = errors.length === 1 ? errors[0]! : `[${[...new Set(errors)].join(', ')}]`;
        throw forbidden(request.declaration, request.name, text);
      }
    },
  };
}
