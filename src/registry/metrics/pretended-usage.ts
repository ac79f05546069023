// What pods of simulated nodes use: what their annotations say, or half of what they request. Nobody is asked, nothing runs. Pure.
import type { Container, Pod } from '../../api/generated/types/core-v1.ts';
import type { JsonObject } from '../../apimachinery/declaration.ts';
import { quantityValue, tryParseQuantity } from '../../apimachinery/quantity.ts';
import { isPodTerminating, podCondition } from '../../component-helpers/pod-status.ts';
import {
  annotationSimulatedCpuUsage,
  annotationSimulatedMemoryUsage,
} from '../../component-helpers/simulated-nodes.ts';
import { type PodUsage, resolutionMs, type Usage } from './usage-points.ts';

/** What a pod pretends, whenever it is asked. */
export interface Pretended {
  /** Since when it runs: of before nothing could be measured. */
  readonly sinceMs: number;
  readonly containers: PodUsage['containers'];
}

/** Of a container that says nothing. */
const least = { cpu: 1_000_000, memory: 16 << 20 };
/** Of a node besides its pods: what its system and its kubelet would take. */
const ofSystem = { cpuNanoCores: 50_000_000, memoryBytes: 256 << 20 };

const nano = (quantity: unknown): number | undefined => {
  const parsed = tryParseQuantity(quantity);
  return parsed === undefined || parsed.nano < 0n ? undefined : Number(parsed.nano);
};
const whole = (quantity: unknown): number | undefined => {
  const parsed = tryParseQuantity(quantity);
  return parsed === undefined || parsed.nano < 0n ? undefined : quantityValue(parsed);
};
/** More than any machine has, and yet a number that can be told. */
const most = Number.MAX_SAFE_INTEGER;
const bounded = (value: number): number => Math.min(Math.floor(value), most);

function ofContainer({ name, resources }: Container): PodUsage['containers'][number] {
  const cpu = nano(resources?.requests?.['cpu']);
  const memory = whole(resources?.requests?.['memory']);
  return {
    name,
    cpuNanoCores: bounded(cpu ? cpu / 2 : least.cpu),
    memoryBytes: bounded(memory ? memory / 2 : least.memory),
  };
}

/** Undefined: it does not run. */
export function pretendedOf(object: JsonObject): Pretended | undefined {
  const pod = object as unknown as Pod;
  const ready = podCondition(pod, 'Ready');
  if (pod.status?.phase !== 'Running' || isPodTerminating(pod)) return undefined;
  const sinceMs = Date.parse(ready?.lastTransitionTime ?? pod.status.startTime ?? '');
  if (Number.isNaN(sinceMs)) return undefined;
  const sidecars = (pod.spec.initContainers ?? []).filter((one) => one.restartPolicy === 'Always');
  const containers = [...pod.spec.containers, ...sidecars].map(ofContainer);
  const { annotations } = pod.metadata;
  const cpu = nano(annotations?.[annotationSimulatedCpuUsage]);
  const memory = whole(annotations?.[annotationSimulatedMemoryUsage]);
  const share = (all: number | undefined): number | undefined => all && bounded(all / containers.length);
  return {
    sinceMs,
    containers: containers.map(({ name, cpuNanoCores, memoryBytes }) => ({
      name,
      cpuNanoCores: share(cpu) ?? cpuNanoCores,
      memoryBytes: share(memory) ?? memoryBytes,
    })),
  };
}

const second = 1000;

/** The window is no longer than it runs. */
export function pretendedPodUsage({ sinceMs, containers }: Pretended, nowMs: number): PodUsage {
  const atMs = Math.floor(nowMs / second) * second;
  return { atMs, windowMs: Math.min(Math.max(atMs - sinceMs, second), resolutionMs), containers };
}

export function pretendedNodeUsage(pods: Iterable<Pretended>, nowMs: number): Usage {
  let { cpuNanoCores, memoryBytes } = ofSystem;
  for (const { containers } of pods)
    for (const one of containers) {
      cpuNanoCores += one.cpuNanoCores;
      memoryBytes += one.memoryBytes;
    }
  return {
    atMs: Math.floor(nowMs / second) * second,
    windowMs: resolutionMs,
    cpuNanoCores: bounded(cpuNanoCores),
    memoryBytes: bounded(memoryBytes),
  };
}
