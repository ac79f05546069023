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
  countUsage,
  isUnderQuota,
  podUsage,
  serviceUsage,
  type Usage,
  usageText,
} from '../../component-helpers/quota-usage.ts';
import { isAbout, requested } from './request/typed-request.ts';

/** Writes what is used into the quota's status, for people; nobody waits for it. */
export type QuotaRecorder = (
  namespace: string,
  name: string,
  status: { readonly hard: Record<string, string>; readonly used: Record<string, string> },
) => void;

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

const countable = /^(?:count\/)?(configmaps|secrets|replicationcontrollers|resourcequotas)$/;
const inGroup = /^count\/([a-z]+)\.([a-z.0-9]+)$/;
const versionsOf: Readonly<Record<string, string>> = { autoscaling: 'v2' };

/** Kinds that are only counted. */
function countedResource(quotaName: string): ResourceRef | undefined {
  const core = countable.exec(quotaName)?.[1];
  if (core !== undefined) return { group: '', version: 'v1', resource: core, kind: '', namespaced: true };
  const [, resource, group] = inGroup.exec(quotaName) ?? [];
  if (resource === undefined || group === undefined) return undefined;
  return { group, version: versionsOf[group] ?? 'v1', resource, kind: '', namespaced: true };
}

type Amounts = Readonly<Record<string, string | number>>;
const limitsOf = (quota: ResourceQuota): Map<string, Quantity> =>
  new Map(
    Object.entries((quota.spec?.hard ?? {}) as Amounts).map(([name, text]) => [name, parseQuantity(text)]),
  );

const only = (usage: Usage, names: ReadonlyMap<string, unknown>): Usage =>
  new Map([...usage].filter(([name]) => names.has(name)));

/** Compute resources that the quota counts must be said by every container. */
function missing(quota: ResourceQuota, pod: Pod): string {
  const gaps = new Map<string, string[]>();
  for (const name of limitsOf(quota).keys()) {
    const match = /^(?:(requests|limits)\.)?(cpu|memory)$/.exec(name);
    if (match === null) continue;
    const kind = match[1] === 'limits' ? 'limits' : 'requests';
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

export function createResourceQuota(deps: {
  readonly live: LiveObjects;
  readonly clock: Clock;
  readonly record: QuotaRecorder;
}): AdmissionPlugin {
  const { live, clock } = deps;
  let reservations: Reservation[] = [];

  /** What stored objects use. Counted afresh, so that what was deleted is free again without anybody's help. */
  const stored = (quota: ResourceQuota, namespace: string, hard: ReadonlyMap<string, Quantity>): Usage => {
    const used = new Map<string, Quantity>([...hard.keys()].map((name) => [name, zeroQuantity]));
    const take = (usage: Usage): void => {
      for (const [name, amount] of only(usage, hard)) {
        used.set(name, addQuantities(used.get(name) ?? zeroQuantity, amount));
      }
    };
    for (const pod of live.list(pods, { namespace })) if (isUnderQuota(quota, pod)) take(podUsage(pod));
    if (!isUnderQuota(quota, undefined)) return used;
    for (const service of live.list(services, { namespace })) take(serviceUsage(service));
    for (const claim of live.list(persistentvolumeclaims, { namespace })) take(claimUsage(claim));
    for (const name of hard.keys()) {
      const counted = countedResource(name);
      if (counted !== undefined) used.set(name, quantityOf(live.list(counted, { namespace }).length));
    }
    return used;
  };

  /** What others were allowed a moment ago and is not in the store yet. */
  const reserved = (quota: ResourceQuota, namespace: string, hard: ReadonlyMap<string, Quantity>): Usage => {
    const now = clock.now();
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

  const check = (request: AdmissionRequest, quota: ResourceQuota, cost: Cost): void => {
    const name = quota.metadata?.name ?? '';
    const hard = limitsOf(quota);
    const delta = only(cost.usage, hard);
    const refuse = (why: string): never => {
      throw forbidden(request.declaration, request.name, why);
    };
    const gaps = cost.pod === undefined ? '' : missing(quota, cost.pod);
    if (gaps !== '') refuse(`failed quota: ${name}: must specify ${gaps}`);
    const used = addUsage(stored(quota, request.namespace, hard), reserved(quota, request.namespace, hard));
    const of = (amounts: Usage, key: string): Quantity => amounts.get(key) ?? zeroQuantity;
    const exceeded = [...delta.keys()].filter(
      (key) => compareQuantities(addQuantities(of(used, key), of(delta, key)), of(hard, key)) > 0,
    );
    if (exceeded.length > 0) {
      const pick = (from: Usage): string => usageText(new Map(exceeded.map((key) => [key, of(from, key)])));
      refuse(
        `exceeded quota: ${name}, requested: ${pick(delta)}, used: ${pick(used)}, limited: ${pick(hard)}`,
      );
    }
    if (request.dryRun) return;
    const text = (amounts: Usage): Record<string, string> =>
      Object.fromEntries([...hard.keys()].map((key) => [key, formatQuantity(of(amounts, key))]));
    deps.record(request.namespace, name, { hard: text(hard), used: text(addUsage(used, delta)) });
  };

  return {
    name: 'ResourceQuota',
    operations: ['CREATE', 'DELETE'],
    validate(request) {
      if (request.operation === 'DELETE') {
        // Created and deleted before anybody looked: its cost is not on the way any more.
        const { declaration, namespace, name } = request;
        reservations = reservations.filter(
          (r) => r.name !== name || r.namespace !== namespace || r.resource !== declaration,
        );
        return;
      }
      if (request.namespace === '' || isAbout(request, resourcequotas)) return;
      const cost = costOf(request);
      if (cost === undefined) return;
      const quotas = live
        .list(resourcequotas, { namespace: request.namespace })
        .filter((quota) => isUnderQuota(quota, cost.pod) && only(cost.usage, limitsOf(quota)).size > 0);
      if (quotas.length === 0) return;
      for (const quota of quotas) check(request, quota, cost);
      if (request.dryRun) return;
      reservations.push({
        resource: request.declaration,
        namespace: request.namespace,
        name: nameOf(request.object ?? {}),
        cost,
        untilMs: clock.now() + reservationMs,
      });
    },
  };
}
