// Quality of service and the cgroup numbers that follow from requests and limits. Pure.
import type { Pod, ResourceRequirements } from '../../api/generated/types/core-v1.ts';
import { milliValue, quantityValue, tryParseQuantity } from '../../apimachinery/quantity.ts';
import type { AnyContainer } from '../pod-format.ts';
import { isSidecar } from '../pod-format.ts';

export type QosClass = 'Guaranteed' | 'Burstable' | 'BestEffort';

type List = ResourceRequirements['limits'];
export const milliCpuOf = (list: List): number => {
  const q = tryParseQuantity(list?.['cpu']);
  return q ? milliValue(q) : 0;
};
export const memoryOf = (list: List): number => {
  const q = tryParseQuantity(list?.['memory']);
  return q ? quantityValue(q) : 0;
};

export function qosClass(pod: Pod): QosClass {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  let any = false;
  let guaranteed = true;
  for (const { resources } of containers) {
    const [requests, limits] = [resources?.requests, resources?.limits];
    const cpu = milliCpuOf(limits);
    const memory = memoryOf(limits);
    if (cpu + memory + milliCpuOf(requests) + memoryOf(requests) > 0) any = true;
    const equal =
      (requests?.['cpu'] === undefined || milliCpuOf(requests) === cpu) &&
      (requests?.['memory'] === undefined || memoryOf(requests) === memory);
    if (cpu === 0 || memory === 0 || !equal) guaranteed = false;
  }
  if (!any) return 'BestEffort';
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

export const cpuShares = (milli: number): number =>
  milli === 0 ? 2 : Math.min(Math.max(Math.trunc((milli * 1024) / 1000), 2), 262_144);
export const cpuPeriodUs = 100_000;
/** 0 means no quota. */
export const cpuQuotaUs = (milli: number): number =>
  milli === 0 ? 0 : Math.max(Math.trunc((milli * cpuPeriodUs) / 1000), 1000);

/** A container without a request asks for its limit. */
export const effectiveMilliCpu = (resources: ResourceRequirements | undefined): number =>
  resources?.requests?.['cpu'] === undefined ? milliCpuOf(resources?.limits) : milliCpuOf(resources.requests);

export function oomScoreAdjust(pod: Pod, container: AnyContainer, nodeMemoryBytes: number): number {
  const qos = qosClass(pod);
  if (pod.spec.priorityClassName === 'system-node-critical' || qos === 'Guaranteed') return -997;
  if (qos === 'BestEffort') return 1000;
  const requested = memoryOf(container.resources?.requests) || memoryOf(container.resources?.limits);
  const score = 1000 - Math.trunc((1000 * requested) / Math.max(nodeMemoryBytes, 1));
  if (score < 3) return 3;
  return score === 1000 ? 999 : score;
}

export interface PodCgroupLimits {
  readonly cpuShares: number;
  /** Undefined unless every container has a limit. */
  readonly cpuQuotaUs: number | undefined;
  readonly memoryLimitBytes: number | undefined;
}

export function podCgroupLimits(pod: Pod): PodCgroupLimits {
  const long = [...(pod.spec.initContainers ?? []).filter(isSidecar), ...pod.spec.containers];
  const once = (pod.spec.initContainers ?? []).filter((c) => !isSidecar(c));
  const total = (of: (r: ResourceRequirements | undefined) => number): number =>
    Math.max(
      long.reduce((sum, c) => sum + of(c.resources), 0),
      ...once.map((c) => of(c.resources)),
    );
  const all = [...long, ...once];
  const cpuLimited = all.every((c) => milliCpuOf(c.resources?.limits) > 0);
  const memoryLimited = all.every((c) => memoryOf(c.resources?.limits) > 0);
  return {
    cpuShares: cpuShares(total(effectiveMilliCpu)),
    cpuQuotaUs: cpuLimited ? cpuQuotaUs(total((r) => milliCpuOf(r?.limits))) : undefined,
    memoryLimitBytes: memoryLimited ? total((r) => memoryOf(r?.limits)) : undefined,
  };
}

/** The group of all pods, below `root` (`` or `/name`). */
export const allPodsCgroup = (root: string): string => `${root === '/' ? '' : root}/kubepods`;

/** `/kubepods/burstable/pod<uid>`. */
export function podCgroup(pod: Pod, root: string): string {
  const qos = qosClass(pod);
  const middle = qos === 'Guaranteed' ? '' : `/${qos.toLowerCase()}`;
  return `${allPodsCgroup(root)}${middle}/pod${pod.metadata.uid ?? ''}`;
}
