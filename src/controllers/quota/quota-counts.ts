// What a namespace uses of a quota: sums over what it holds.
import type {
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  Service,
} from '../../api/generated/types/core-v1.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  zeroQuantity,
} from '../../apimachinery/quantity.ts';
import {
  claimUsage,
  countedResource,
  countedResources,
  type GroupResource,
  isUnderQuota,
  podUsage,
  serviceUsage,
  type Usage,
} from '../../component-helpers/quota-usage.ts';

export interface NamespaceContent {
  readonly pods: readonly Pod[];
  readonly services: readonly Service[];
  readonly claims: readonly PersistentVolumeClaim[];
  /** How many there are of one of `countedResources`; undefined when that is not known. */
  count(resource: GroupResource): number | undefined;
}

/** Informers' pods do not change: at each of ten thousand pods that come, all others are counted again. */
const known = new WeakMap<Pod, Usage>();
function usageOf(pod: Pod): Usage {
  let usage = known.get(pod);
  if (usage === undefined) {
    usage = podUsage(pod);
    known.set(pod, usage);
  }
  return usage;
}

export function quotaStatus(
  quota: ResourceQuota,
  content: NamespaceContent,
): { hard: Record<string, string>; used: Record<string, string> } {
  const hard = (quota.spec?.hard ?? {}) as Record<string, string | number>;
  const sums = new Map<string, Quantity>(Object.keys(hard).map((name) => [name, zeroQuantity]));
  const take = (usage: Usage): void => {
    for (const [name, amount] of usage) {
      const sum = sums.get(name);
      if (sum !== undefined) sums.set(name, addQuantities(sum, amount));
    }
  };
  for (const pod of content.pods) if (isUnderQuota(quota, pod)) take(usageOf(pod));
  if (isUnderQuota(quota, undefined)) {
    for (const service of content.services) take(serviceUsage(service));
    for (const claim of content.claims) take(claimUsage(claim));
  }
  const used = new Map([...sums].map(([name, sum]) => [name, formatQuantity(sum)]));
  if (isUnderQuota(quota, undefined))
    for (const counted of countedResources(quota)) {
      const count = content.count(counted);
      for (const name of sums.keys()) {
        const of = countedResource(name);
        if (of?.group !== counted.group || of.resource !== counted.resource) continue;
        const before = quota.status?.used?.[name];
        used.set(name, count === undefined ? String(before ?? '0') : formatQuantity(quantityOf(count)));
      }
    }
  return {
    hard: Object.fromEntries(
      Object.entries(hard).map(([name, amount]) => [name, formatQuantity(parseQuantity(amount))]),
    ),
    used: Object.fromEntries(used),
  };
}

type Amounts = Readonly<Record<string, string | number>>;

/** Texts may differ where amounts do not. */
export function sameAmounts(a: Amounts, b: Amounts | undefined): boolean {
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b ?? {}).length &&
    names.every((name) => {
      const [left, right] = [a[name], b?.[name]];
      return (
        left !== undefined &&
        right !== undefined &&
        compareQuantities(parseQuantity(left), parseQuantity(right)) === 0
      );
    })
  );
}
