// ResourceQuota: what a namespace may hold. A cost is reserved in the same breath as it is checked, so two writes can't
// both take the last of it.
import { persistentvolumeclaims, pods, resourcequotas, services } from '../../api/generated/resources.ts';
import type { Pod, ResourceQuota } from '../../api/generated/types/core-v1.ts';
import { forbidden } from '../../apimachinery/errors.ts';
import { nameOf } from '../../apimachinery/json-access.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  zeroQuantity,
} from '../../apimachinery/quantity.ts';
import type { ResourceRef } from '../../apimachinery/resource-ref.ts';
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import type { LiveObjects } from '../../apiserver/live-objects.ts';
import type { Clock } from '../../base/clock.ts';
import {
  addUsage,
  claimUsage,
  countedResource,
  countedResources,
  countUsage,
  type GroupResource,
  isUnderQuota,
  podUsage,
  quotaShape,
  serviceUsage,
  type Usage,
  usageText,
} from '../../component-helpers/quota-usage.ts';
import { requested } from './request/typed-request.ts';

/**
 * Writes what is used into the quota's status before the write that uses it is answered. `status` is worked out anew
 * at each attempt: of two that race, the later one has counted both.
 */
export type QuotaRecorder = (
  namespace: string,
  name: string,
  status: () => { readonly hard: Record<string, string>; readonly used: Record<string, string> },
) => Promise<void>;

/** A cost that was allowed and is not stored yet. */
interface Reservation {
  readonly resource: ResourceRef;
  readonly namespace: string;
  readonly name: string;
  readonly cost: Cost;
  readonly untilMs: number;
}

/** A write that took this long has failed. */
const reservationMs = 5000;

interface Cost {
  readonly usage: Usage;
  readonly pod: Pod | undefined;
}

function costOf(request: AdmissionRequest): Cost | undefined {
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

/** All that quotas ask of a stored pod: its amounts, and what their scopes look at. */
const podCost = (pod: Pod): { readonly usage: Usage; readonly shape: Pod } => ({
  usage: podUsage(pod),
  shape: quotaShape(pod),
});

const idOf = ({ group, resource }: GroupResource): string => `${resource}.${group}`;

type Amounts = Readonly<Record<string, string | number>>;
const limitsOf = (quota: ResourceQuota): Map<string, Quantity> =>
  new Map(
    Object.entries((quota.spec?.hard ?? {}) as Amounts).map(([name, text]) => [name, parseQuantity(text)]),
  );

const only = (usage: Usage, names: ReadonlyMap<string, unknown>): Usage =>
  new Map([...usage].filter(([name]) => names.has(name)));

/** Compute resources that the quota counts must be said by every container, or by the pod for all of them. */
function missing(quota: ResourceQuota, pod: Pod): string {
  const gaps = new Map<string, string[]>();
  for (const name of limitsOf(quota).keys()) {
    const match = /^(?:(requests|limits)\.)?(cpu|memory)$/.exec(name);
    if (match === null) continue;
    const kind = match[1] === 'limits' ? 'limits' : 'requests';
    if (((pod.spec.resources?.[kind] ?? {}) as Amounts)[match[2] ?? ''] !== undefined) continue;
    for (const container of [...pod.spec.containers, ...(pod.spec.initContainers ?? [])]) {
      const said = (container.resources?.[kind] ?? {}) as Amounts;
      if (said[match[2] ?? ''] === undefined) gaps.set(name, [...(gaps.get(name) ?? []), container.name]);
    }
  }
  return [...gaps]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, containers]) => `${name} for: ${containers.sort().join(',')}`)
    .join('; ');
}

/** Also when the pod says nothing of what the quota counts: that is what it must say. */
const concerns = (quota: ResourceQuota, { usage, pod }: Cost): boolean =>
  only(usage, limitsOf(quota)).size > 0 || (pod !== undefined && missing(quota, pod) !== '');

/** What stored objects use. Counted afresh, so that what was deleted is free again without anybody's help. */
function stored(
  live: LiveObjects,
  quota: ResourceQuota,
  namespace: string,
  hard: ReadonlyMap<string, Quantity>,
): Usage {
  const used = new Map<string, Quantity>([...hard.keys()].map((name) => [name, zeroQuantity]));
  const take = (usage: Usage): void => {
    for (const [name, amount] of usage) {
      const sum = used.get(name);
      if (sum !== undefined) used.set(name, addQuantities(sum, amount));
    }
  };
  for (const { usage, shape } of live.summaries(pods, namespace, podCost))
    if (isUnderQuota(quota, shape)) take(usage);
  if (!isUnderQuota(quota, undefined)) return used;
  for (const service of live.list(services, { namespace })) take(serviceUsage(service));
  for (const claim of live.list(persistentvolumeclaims, { namespace })) take(claimUsage(claim));
  const counts = new Map(
    countedResources(quota).map((counted) => [idOf(counted), live.count(counted, namespace)]),
  );
  for (const name of hard.keys()) {
    const counted = countedResource(name);
    const count = counted && counts.get(idOf(counted));
    if (count !== undefined) used.set(name, quantityOf(count));
  }
  return used;
}

/** What a quota's status says of what it limits. */
const texts = (hard: Usage, amounts: Usage): Record<string, string> =>
  Object.fromEntries([...hard.keys()].map((key) => [key, formatQuantity(amounts.get(key) ?? zeroQuantity)]));

/** Throws 403 when the object does not fit. */
function check(request: AdmissionRequest, quota: ResourceQuota, cost: Cost, usage: () => Usage): void {
  const name = quota.metadata?.name ?? '';
  const hard = limitsOf(quota);
  const delta = only(cost.usage, hard);
  const refuse = (why: string): never => {
    throw forbidden(request.declaration, request.name, why);
  };
  const gaps = cost.pod === undefined ? '' : missing(quota, cost.pod);
  if (gaps !== '') refuse(`failed quota: ${name}: must specify ${gaps}`);
  const used = usage();
  const of = (amounts: Usage, key: string): Quantity => amounts.get(key) ?? zeroQuantity;
  const exceeded = [...delta.keys()].filter(
    (key) => compareQuantities(addQuantities(of(used, key), of(delta, key)), of(hard, key)) > 0,
  );
  if (exceeded.length > 0) {
    const pick = (from: Usage): string => usageText(new Map(exceeded.map((key) => [key, of(from, key)])));
    refuse(`exceeded quota: ${name}, requested: ${pick(delta)}, used: ${pick(used)}, limited: ${pick(hard)}`);
  }
}

export function createResourceQuota(deps: {
  readonly live: LiveObjects;
  readonly clock: Clock;
  readonly record: QuotaRecorder;
}): AdmissionPlugin {
  const { live, clock } = deps;
  let reservations: Reservation[] = [];

  /** What others were allowed a moment ago and is not in the store yet. */
  const reserved = (quota: ResourceQuota, namespace: string, hard: ReadonlyMap<string, Quantity>): Usage => {
    const now = clock.monotonic();
    reservations = reservations.filter(
      (r) => r.untilMs > now && live.get(r.resource, r.name, r.namespace) === undefined,
    );
    let usage: Usage = new Map();
    for (const r of reservations) {
      if (r.namespace === namespace && isUnderQuota(quota, r.cost.pod)) {
        usage = addUsage(usage, only(r.cost.usage, hard));
      }
    }
    return usage;
  };

  const used = (quota: ResourceQuota, namespace: string): Usage => {
    const hard = limitsOf(quota);
    return addUsage(stored(live, quota, namespace, hard), reserved(quota, namespace, hard));
  };

  const record = (namespace: string, quota: ResourceQuota): Promise<void> => {
    const hard = limitsOf(quota);
    return deps.record(namespace, quota.metadata?.name ?? '', () => {
      const now = used(quota, namespace);
      return { hard: texts(hard, hard), used: texts(hard, now) };
    });
  };

  return {
    name: 'ResourceQuota',
    operations: ['CREATE', 'DELETE'],
    async validate(request) {
      if (request.operation === 'DELETE') {
        // Created and deleted before anybody looked: its cost is not on the way any more.
        const { declaration, namespace, name } = request;
        reservations = reservations.filter(
          (r) => r.name !== name || r.namespace !== namespace || r.resource !== declaration,
        );
        return;
      }
      if (request.namespace === '') return;
      const cost = costOf(request);
      if (cost === undefined) return;
      const quotas = live
        .list(resourcequotas, { namespace: request.namespace })
        .filter((quota) => isUnderQuota(quota, cost.pod) && concerns(quota, cost));
      if (quotas.length === 0) return;
      for (const quota of quotas) check(request, quota, cost, () => used(quota, request.namespace));
      if (request.dryRun) return;
      reservations.push({
        resource: request.declaration,
        namespace: request.namespace,
        name: nameOf(request.object ?? {}),
        cost,
        untilMs: clock.monotonic() + reservationMs,
      });
      await Promise.all(quotas.map((quota) => record(request.namespace, quota)));
    },
  };
}
