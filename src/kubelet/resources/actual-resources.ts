// What a running container has, by its runtime's word: what differs from what it is to have, and how it is told. Pure (upstream:
// computePodResizeAction, convertContainerStatusResources).
import type { Container, Pod, ResourceRequirements } from '../../api/generated/types/core-v1.ts';
import { canonicalizeQuantity, formatQuantity, quantityOf } from '../../apimachinery/quantity.ts';
import type { LinuxContainerResources } from '../../rpc-api/generated/cri-v1.ts';
import { latestOf, type ObservedPod } from '../observed-pod.ts';
import type { AnyContainer } from '../pod-format.ts';
import { cpuPeriodUs, cpuQuotaUs, cpuShares, effectiveMilliCpu, memoryOf, milliCpuOf } from './qos.ts';

/** 0: none, or none is told. */
interface Numbers {
  readonly cpuShares: number;
  readonly cpuQuotaUs: number;
  readonly memoryBytes: number;
}

const positive = (value: number | undefined): number => Math.max(value ?? 0, 0);

const numbersOf = (has: LinuxContainerResources): Numbers => ({
  cpuShares: positive(has.cpuShares),
  cpuQuotaUs: Math.round((positive(has.cpuQuota) * cpuPeriodUs) / (positive(has.cpuPeriod) || cpuPeriodUs)),
  memoryBytes: positive(has.memoryLimitInBytes),
});

export interface ResourceChange {
  readonly cpu: boolean;
  readonly memory: boolean;
  /** Some of it is taken away, and none given. */
  readonly shrinks: boolean;
  /** What is left of its memory; undefined: it has no less than before. */
  readonly lessMemoryBytes: number | undefined;
}

/** Undefined: the container has what it is to have. */
export function changeOf(
  has: LinuxContainerResources | undefined,
  wanted: LinuxContainerResources,
): ResourceChange | undefined {
  const to = numbersOf(wanted);
  const unknown = { cpu: true, memory: to.memoryBytes > 0, shrinks: false, lessMemoryBytes: undefined };
  if (has === undefined) return unknown;
  const from = numbersOf(has);
  const cpu = from.cpuShares !== to.cpuShares || from.cpuQuotaUs !== to.cpuQuotaUs;
  const memory = from.memoryBytes !== to.memoryBytes;
  if (!cpu && !memory) return undefined;
  const grows =
    to.cpuShares > from.cpuShares || to.cpuQuotaUs > from.cpuQuotaUs || to.memoryBytes > from.memoryBytes;
  const lessMemoryBytes = to.memoryBytes < from.memoryBytes ? to.memoryBytes : undefined;
  return { cpu, memory, shrinks: !grows, lessMemoryBytes };
}

/** Whether the container's own word is that it starts anew with such a change. */
export const restartsFor = ({ resizePolicy }: AnyContainer, change: ResourceChange): boolean =>
  (resizePolicy ?? []).some(
    ({ resourceName, restartPolicy }) =>
      restartPolicy === 'RestartContainer' &&
      ((resourceName === 'cpu' && change.cpu) || (resourceName === 'memory' && change.memory)),
  );

const milliText = (milli: number): string => canonicalizeQuantity(`${milli}m`);
const bytesText = (bytes: number): string => formatQuantity(quantityOf(bytes, 'BinarySI'));

/** What was set aside, with what the runtime has not come to yet in its place. */
export function actualResources(
  resources: ResourceRequirements,
  has: LinuxContainerResources | undefined,
): ResourceRequirements {
  if (has === undefined) return resources;
  const { cpuShares: shares, cpuQuotaUs: quota, memoryBytes } = numbersOf(has);
  const limits = { ...resources.limits };
  const requests = { ...resources.requests };
  if (limits['cpu'] !== undefined && quota > 0 && quota !== cpuQuotaUs(milliCpuOf(limits)))
    limits['cpu'] = milliText(Math.ceil((quota * 1000) / cpuPeriodUs));
  if (limits['memory'] !== undefined && memoryBytes > 0 && memoryBytes !== memoryOf(limits))
    limits['memory'] = bytesText(memoryBytes);
  if (requests['cpu'] !== undefined && shares > 0 && shares !== cpuShares(effectiveMilliCpu(resources)))
    requests['cpu'] = milliText(Math.ceil((shares * 1000) / 1024));
  return {
    ...resources,
    ...(resources.limits ? { limits } : {}),
    ...(resources.requests ? { requests } : {}),
  };
}

/** The pod as it runs: each container with what its runtime says that it has. */
export function asItRuns(pod: Pod, observed: ObservedPod): Pod {
  const actual = <C extends Container>(container: C): C => {
    const running = latestOf(observed, container.name);
    if (running?.state !== 'running' || container.resources === undefined) return container;
    return { ...container, resources: actualResources(container.resources, running.resources) };
  };
  const { containers, initContainers } = pod.spec;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      containers: containers.map(actual),
      ...(initContainers ? { initContainers: initContainers.map(actual) } : {}),
    },
  };
}
