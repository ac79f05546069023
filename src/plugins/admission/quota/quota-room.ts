// How much of a quota is used by what is stored.
import { persistentvolumeclaims, pods, services } from '../../../api/generated/resources.ts';
import type { Pod, ResourceQuota } from '../../../api/generated/types/core-v1.ts';
import {
  addQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityOf,
  zeroQuantity,
} from '../../../apimachinery/quantity.ts';
import type { LiveObjects } from '../../../apiserver/live-objects.ts';
import {
  claimUsage,
  countedResource,
  countedResources,
  type GroupResource,
  isUnderQuota,
  podUsage,
  quotaShape,
  serviceUsage,
  type Usage,
} from '../../../component-helpers/quota-usage.ts';

type Amounts = Readonly<Record<string, string | number>>;

export const hardOf = (quota: ResourceQuota): Usage =>
  new Map(
    Object.entries((quota.spec?.hard ?? {}) as Amounts).map(([name, text]) => [name, parseQuantity(text)]),
  );

export const only = (usage: Usage, names: ReadonlyMap<string, unknown>): Usage =>
  new Map([...usage].filter(([name]) => names.has(name)));

/** Whether the quota counts any of it. */
export const fits = (usage: Usage, quota: ResourceQuota): boolean => only(usage, hardOf(quota)).size > 0;

/** All that quotas ask of a stored pod: its amounts, and what their scopes look at. */
const podCost = (pod: Pod): { readonly usage: Usage; readonly shape: Pod } => ({
  usage: podUsage(pod),
  shape: quotaShape(pod),
});

const idOf = ({ group, resource }: GroupResource): string => `${resource}.${group}`;

/** Counted afresh, so that what was deleted is free again without anybody's help. */
export function storedUsage(live: LiveObjects, quota: ResourceQuota, namespace: string): Usage {
  const hard = hardOf(quota);
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
export function statusOf(
  quota: ResourceQuota,
  used: Usage,
): { readonly hard: Record<string, string>; readonly used: Record<string, string> } {
  const hard = hardOf(quota);
  const texts = (amounts: Usage): Record<string, string> =>
    Object.fromEntries(
      [...hard.keys()].map((key) => [key, formatQuantity(amounts.get(key) ?? zeroQuantity)]),
    );
  return { hard: texts(hard), used: texts(used) };
}
