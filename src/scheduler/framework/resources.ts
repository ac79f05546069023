// Amounts of resources as plain numbers: fast to add and compare, exact up to 2^53.
import { podRequests } from '../../api/core/v1/pod-resources.ts';
import type { Pod } from '../../api/generated/types/core-v1.ts';
import { milliValue, parseQuantity, quantityValue } from '../../apimachinery/quantity.ts';

export interface Resources {
  milliCpu: number;
  memory: number;
  ephemeralStorage: number;
  pods: number;
  /** Extended resources and huge pages, by name. */
  scalars: Map<string, number>;
}

/** What a container without requests is thought to take, for scores only (upstream: DefaultMilliCPURequest, DefaultMemoryRequest). */
const defaultMilliCpu = 100;
const defaultMemory = 200 * 1024 * 1024;

export const emptyResources = (): Resources => ({
  milliCpu: 0,
  memory: 0,
  ephemeralStorage: 0,
  pods: 0,
  scalars: new Map(),
});

export function resourcesFrom(list: Readonly<Record<string, string | number>>): Resources {
  const out = emptyResources();
  for (const [name, quantity] of Object.entries(list)) {
    const parsed = parseQuantity(String(quantity));
    if (name === 'cpu') out.milliCpu = milliValue(parsed);
    else if (name === 'memory') out.memory = quantityValue(parsed);
    else if (name === 'ephemeral-storage') out.ephemeralStorage = quantityValue(parsed);
    else if (name === 'pods') out.pods = quantityValue(parsed);
    else out.scalars.set(name, quantityValue(parsed));
  }
  return out;
}

/** A pod that no node has told of yet holds nothing beside. */
const requestsOf = (pod: Pod): Record<string, string> =>
  podRequests(pod, { heldByNode: pod.status?.containerStatuses !== undefined });

/** What the pod asks for, and what its node holds for it, init containers, sidecars and overhead included. `pods` is 1. */
export function requestOf(pod: Pod): Resources {
  const out = resourcesFrom(requestsOf(pod));
  out.pods = 1;
  return out;
}

/** As requestOf, with a default for containers that ask for nothing: spreads them too. */
export function nonZeroRequestOf(pod: Pod): { readonly milliCpu: number; readonly memory: number } {
  const request = resourcesFrom(requestsOf(pod));
  // Where the pod speaks for its containers none of them is without.
  const without = (name: 'cpu' | 'memory'): number =>
    pod.spec.resources?.requests?.[name] !== undefined
      ? 0
      : pod.spec.containers.filter((container) => container.resources?.requests?.[name] === undefined).length;
  return {
    milliCpu: request.milliCpu + without('cpu') * defaultMilliCpu,
    memory: request.memory + without('memory') * defaultMemory,
  };
}

export function addResources(to: Resources, more: Resources): void {
  to.milliCpu += more.milliCpu;
  to.memory += more.memory;
  to.ephemeralStorage += more.ephemeralStorage;
  to.pods += more.pods;
  for (const [name, amount] of more.scalars) to.scalars.set(name, (to.scalars.get(name) ?? 0) + amount);
}

export function subtractResources(from: Resources, less: Resources): void {
  from.milliCpu -= less.milliCpu;
  from.memory -= less.memory;
  from.ephemeralStorage -= less.ephemeralStorage;
  from.pods -= less.pods;
  for (const [name, amount] of less.scalars) from.scalars.set(name, (from.scalars.get(name) ?? 0) - amount);
}

/** 0 of what is not named. */
export function amountOf(resources: Resources, name: string): number {
  switch (name) {
    case 'cpu':
      return resources.milliCpu;
    case 'memory':
      return resources.memory;
    case 'ephemeral-storage':
      return resources.ephemeralStorage;
    case 'pods':
      return resources.pods;
    default:
      return resources.scalars.get(name) ?? 0;
  }
}
