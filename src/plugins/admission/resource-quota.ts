// ResourceQuota: what a namespace may hold. What a write costs is reserved before it is stored.
import type { LimitedResource } from '../../api/config/resource-quota-configuration.ts';
import { persistentvolumeclaims, pods, resourcequotas, services } from '../../api/generated/resources.ts';
import type { Pod, ResourceQuota } from '../../api/generated/types/core-v1.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import { meta, nameOf, str } from '../../apimachinery/json-access.ts';
import {
  addQuantities,
  compareQuantities,
  type Quantity,
  zeroQuantity,
} from '../../apimachinery/quantity.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { Random } from '../../base/random.ts';
import {
  claimUsage,
  countUsage,
  isUnderQuota,
  podUsage,
  quotaShape,
  serviceUsage,
  type Usage,
  usageGrowth,
  usageText,
} from '../../component-helpers/quota-usage.ts';
import { type EvaluatorDeps, QuotaEvaluator } from './quota/evaluator.ts';
import { checkLimited } from './quota/limited-resources.ts';
import { fits, hardOf, only } from './quota/quota-room.ts';
import { previous, requested } from './request/typed-request.ts';

interface Cost {
  readonly usage: Usage;
  readonly pod: Pod | undefined;
}

function costOf(request: AdmissionRequest): Cost | undefined {
  if (request.operation === 'UPDATE') return growthOf(request);
  if (request.subresource !== '' || request.object === undefined) return undefined;
  const pod = requested(request, pods);
  if (pod !== undefined) return { usage: podUsage(pod), pod };
  const service = requested(request, services);
  if (service !== undefined) return { usage: serviceUsage(service), pod: undefined };
  const claim = requested(request, persistentvolumeclaims);
  if (claim !== undefined) return { usage: claimUsage(claim), pod: undefined };
  const { group, resource } = request.declaration;
  return { usage: countUsage(group, resource), pod: undefined };
}

/** What an update adds. As upstream, of all that an object may cost only this can grow. */
function growthOf(request: AdmissionRequest): Cost | undefined {
  const growth = <T>(
    resource: ResourceRef<T>,
    subresource: string,
    usage: (object: T) => Usage,
  ): Usage | undefined => {
    const now = requested(request, resource, subresource);
    const before = previous(request, resource);
    return now === undefined || before === undefined ? undefined : usageGrowth(usage(now), usage(before));
  };
  const pod = requested(request, pods, 'resize');
  const usage =
    growth(pods, 'resize', podUsage) ??
    growth(services, '', serviceUsage) ??
    growth(persistentvolumeclaims, '', claimUsage);
  return usage === undefined ? undefined : { usage, pod };
}

type Amounts = Readonly<Record<string, string | number>>;

/** Compute resources that the quota counts must be said by every container, or by the pod for all of them. */
function missing(quota: ResourceQuota, pod: Pod): string {
  const gaps = new Map<string, string[]>();
  for (const name of hardOf(quota).keys()) {
    const match = /^(?:(requests|limits)\.)?(cpu|memory)$/.exec(name);
    if (match === null) continue;
    const kind = match[1] === 'limits' ? 'limits' : 'requests';
    if (((pod.spec.resources?.[kind] ?? {}) as Amounts)[match[2] ?? ''] !== undefined) continue;
    for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
      const said = (container.resources?.[kind] ?? {}) as Amounts;
      if (said[match[2] ?? ''] !== undefined) continue;
      const names = gaps.get(name);
      if (names === undefined) gaps.set(name, [container.name]);
      else names.push(container.name);
    }
  }
  return [...gaps]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, containers]) => `${name} for: ${containers.sort().join(',')}`)
    .join('; ');
}

/** Also when the pod says nothing of what the quota counts: that is what it must say. */
const concerns = (quota: ResourceQuota, { usage, pod }: Cost): boolean =>
  isUnderQuota(quota, pod) && (fits(usage, quota) || (pod !== undefined && missing(quota, pod) !== ''));

/** Throws 403 when the object does not fit. */
function check(request: AdmissionRequest, quota: ResourceQuota, cost: Cost, used: Usage): void {
  const name = quota.metadata?.name ?? '';
  const hard = hardOf(quota);
  const delta = only(cost.usage, hard);
  const refuse = (why: string): never => {
    throw forbidden(request.declaration, request.name, why);
  };
  const gaps = cost.pod === undefined ? '' : missing(quota, cost.pod);
  if (gaps !== '') refuse(`failed quota: ${name}: must specify ${gaps}`);
  const of = (amounts: Usage, key: string): Quantity => amounts.get(key) ?? zeroQuantity;
  const exceeded = [...delta.keys()].filter(
    (key) => compareQuantities(addQuantities(of(used, key), of(delta, key)), of(hard, key)) > 0,
  );
  if (exceeded.length > 0) {
    const pick = (from: Usage): string => usageText(new Map(exceeded.map((key) => [key, of(from, key)])));
    refuse(`exceeded quota: ${name}, requested: ${pick(delta)}, used: ${pick(used)}, limited: ${pick(hard)}`);
  }
}

export function createResourceQuota(
  deps: EvaluatorDeps & { readonly random: Random },
  limited: readonly LimitedResource[] = [],
): AdmissionPlugin {
  const { live, random, reservations } = deps;
  const evaluator = new QuotaEvaluator(deps);
  return {
    name: 'ResourceQuota',
    operations: ['CREATE', 'UPDATE'],
    async validate(request) {
      const { declaration: resource, dryRun, namespace } = request;
      const quotas = namespace === '' ? [] : live.list(resourcequotas, { namespace });
      const isFree = quotas.length === 0 && (limited.length === 0 || namespace === '');
      const cost = isFree ? undefined : costOf(request);
      if (cost === undefined) return;
      if (limited.length > 0) checkLimited(request, cost, limited, quotas);
      if (!quotas.some((quota) => concerns(quota, cost))) return;
      const id = random.uuid();
      request.atEnd(() => reservations.end(namespace, id));
      await evaluator.admit(namespace, {
        reservation: {
          id,
          resource,
          name: nameOf(request.object ?? {}),
          replaces: request.oldObject && str(meta(request.oldObject)['resourceVersion']),
          usage: cost.usage,
          shape: cost.pod && quotaShape(cost.pod),
        },
        dryRun,
        check: (quota, used) => {
          if (concerns(quota, cost)) check(request, quota, cost, used);
        },
      });
    },
  };
}
