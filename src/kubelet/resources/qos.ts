// Quality of service and the cgroup numbers that follow from requests and limits. Pure.
import { podQosClass, type QosClass } from '../../api/core/v1/pod-qos.ts';
import { podLimitAmounts, podRequestAmounts, type ResourceAmounts } from '../../api/core/v1/pod-resources.ts';
import type { Pod, ResourceRequirements } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { milliValue, quantityValue, tryParseQuantity } from '../../apimachinery/quantity.ts';
import type { AnyContainer } from '../pod-format.ts';

type List = ResourceRequirements['limits'];
export const milliCpuOf = (list: List): number => {
  const q = tryParseQuantity(list?.['cpu']);
  return q ? milliValue(q) : 0;
};
export const memoryOf = (list: List): number => {
  const q = tryParseQuantity(list?.['memory']);
  return q ? quantityValue(q) : 0;
};

/** The class that the API server works out, too: the truth in the status must be the one of the cgroups. */
export const qosClass = (pod: Pod): QosClass => podQosClass(pod as unknown as JsonObject);

export const cpuShares = (milli: number): number =>
  milli === 0 ? 2 : Math.min(Math.max(Math.trunc((milli * 1024) / 1000), 2), 262_144);
export const cpuPeriodUs = 100_000;
/** 0 means no quota. */
export const cpuQuotaUs = (milli: number): number =>
  milli === 0 ? 0 : Math.max(Math.trunc((milli * cpuPeriodUs) / 1000), 1000);

/** A container without a request asks for its limit. */
export const effectiveMilliCpu = (resources: ResourceRequirements | undefined): number =>
  resources?.requests?.['cpu'] === undefined ? milliCpuOf(resources?.limits) : milliCpuOf(resources.requests);

const milliCpuIn = (amounts: ResourceAmounts): number => {
  const cpu = amounts.get('cpu');
  return cpu ? milliValue(cpu) : 0;
};
const memoryIn = (amounts: ResourceAmounts): number => {
  const memory = amounts.get('memory');
  return memory ? quantityValue(memory) : 0;
};

/** What a container may take: without a limit of its own, that of its pod (upstream: getCPULimit, getMemoryLimit). */
export const containerLimits = (
  pod: Pod,
  { resources }: AnyContainer,
): { readonly milliCpu: number; readonly memoryBytes: number } => ({
  milliCpu: milliCpuOf(resources?.limits) || milliCpuOf(pod.spec.resources?.limits),
  memoryBytes: memoryOf(resources?.limits) || memoryOf(pod.spec.resources?.limits),
});

/** What the pod asked for beyond its containers, in equal parts. */
function unassignedMemory(pod: Pod): number {
  const asked = memoryOf(pod.spec.resources?.requests);
  if (asked === 0) return 0;
  const containers = memoryIn(podRequestAmounts(pod, { excludePodLevel: true, excludeOverhead: true }));
  return Math.trunc(
    (asked - containers) / (pod.spec.containers.length + (pod.spec.initContainers ?? []).length),
  );
}

export function oomScoreAdjust(pod: Pod, container: AnyContainer, nodeMemoryBytes: number): number {
  const qos = qosClass(pod);
  if (pod.spec.priorityClassName === 'system-node-critical' || qos === 'Guaranteed') return -997;
  if (qos === 'BestEffort') return 1000;
  const own = memoryOf(container.resources?.requests) || memoryOf(container.resources?.limits);
  const requested = own + unassignedMemory(pod);
  const score = 1000 - Math.trunc((1000 * requested) / Math.max(nodeMemoryBytes, 1));
  if (score < 3) return 3;
  return score === 1000 ? 999 : score;
}

export interface PodCgroupLimits {
  readonly cpuShares: number;
  /** Undefined unless the pod or every container has a limit. */
  readonly cpuQuotaUs: number | undefined;
  readonly memoryLimitBytes: number | undefined;
}

/** Upstream's ResourceConfigForPod. */
export function podCgroupLimits(pod: Pod): PodCgroupLimits {
  const limits = podLimitAmounts(pod);
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const limited = (of: (list: List) => number): boolean =>
    of(pod.spec.resources?.limits) > 0 || containers.every((c) => of(c.resources?.limits) > 0);
  return {
    cpuShares: cpuShares(milliCpuIn(podRequestAmounts(pod))),
    cpuQuotaUs: limited(milliCpuOf) ? cpuQuotaUs(milliCpuIn(limits)) : undefined,
    memoryLimitBytes: limited(memoryOf) ? memoryIn(limits) : undefined,
  };
}

/** Room for both, for as long as containers go from one to the other. What only one of them limits stays as it is. */
export function widestLimits(a: PodCgroupLimits, b: PodCgroupLimits): PodCgroupLimits {
  const larger = (one: number | undefined, other: number | undefined): number | undefined =>
    one === undefined || other === undefined ? undefined : Math.max(one, other);
  return {
    cpuShares: Math.max(a.cpuShares, b.cpuShares),
    cpuQuotaUs: larger(a.cpuQuotaUs, b.cpuQuotaUs),
    memoryLimitBytes: larger(a.memoryLimitBytes, b.memoryLimitBytes),
  };
}

/** What the node sets aside for the pod. */
export const podDemand = (pod: Pod): { readonly milliCpu: number; readonly memoryBytes: number } => {
  const requests = podRequestAmounts(pod);
  return { milliCpu: milliCpuIn(requests), memoryBytes: memoryIn(requests) };
};

/** The group of all pods, below `root` (`` or `/name`). */
export const allPodsCgroup = (root: string): string => `${root === '/' ? '' : root}/kubepods`;

const qosCgroup = (qos: QosClass, root: string): string =>
  `${allPodsCgroup(root)}${qos === 'Guaranteed' ? '' : `/${qos.toLowerCase()}`}`;

/** `/kubepods/burstable/pod<uid>`. */
export const podCgroup = (pod: Pod, root: string): string =>
  `${qosCgroup(qosClass(pod), root)}/pod${pod.metadata.uid ?? ''}`;

/** Those in which pods' groups lie. */
export const qosCgroups = (root: string): string[] =>
  (['Guaranteed', 'Burstable', 'BestEffort'] as const).map((qos) => qosCgroup(qos, root));
