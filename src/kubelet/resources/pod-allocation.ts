// What the node has set aside for a pod's containers: not yet, or never, what the pod asks for now. Pure (upstream: pkg/kubelet/allocation).
import type {
  Container,
  ContainerStatus,
  Pod,
  ResourceRequirements,
} from '../../api/generated/types/core-v1.ts';
import { quantitiesEqual } from '../../apimachinery/quantity.ts';
import { isSidecar } from '../pod-format.ts';
import { podDemand } from './qos.ts';

/** What is told of a change, as long as it is not done. */
export const resizeConditionTypes = ['PodResizePending', 'PodResizeInProgress'] as const;

export interface PodAllocation {
  /** Of the pod as a whole; undefined: it speaks for its containers only. */
  readonly pod: ResourceRequirements | undefined;
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
}

const resizable = (pod: Pod): Container[] => [
  ...(pod.spec.initContainers ?? []).filter(isSidecar),
  ...pod.spec.containers,
];

/** All that the pod asks for. */
export const wholeAllocation = (pod: Pod): PodAllocation => ({
  pod: pod.spec.resources,
  containers: new Map(resizable(pod).map(({ name, resources }) => [name, resources ?? {}])),
});

/**
 * What a kubelet of before has told of the pod's containers, and what the pod asks for of those of which it told nothing:
 * a change that came meanwhile is judged as any other.
 */
export function toldAllocation(pod: Pod): PodAllocation {
  const { status } = pod;
  const told = new Map<string, ContainerStatus>(
    [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((s) => [s.name, s]),
  );
  const asked = wholeAllocation(pod);
  return {
    pod: status?.resources ?? asked.pod,
    containers: new Map(
      [...asked.containers].map(([name, resources]) => [name, told.get(name)?.resources ?? resources]),
    ),
  };
}

type List = ResourceRequirements['limits'];
const resized = ['cpu', 'memory'] as const;

const sameList = (a: List, b: List): boolean =>
  resized.every((name) => {
    const [one, other] = [a?.[name], b?.[name]];
    return one === undefined || other === undefined ? one === other : quantitiesEqual(one, other);
  });

/** Of what can be changed while a pod runs. */
const sameResources = (a: ResourceRequirements | undefined, b: ResourceRequirements | undefined): boolean =>
  sameList(a?.requests, b?.requests) && sameList(a?.limits, b?.limits);

/** Whether the pod asks for something else than it has. */
export const differsFrom = (pod: Pod, has: PodAllocation): boolean =>
  !sameResources(pod.spec.resources, has.pod) ||
  resizable(pod).some(({ name, resources }) => !sameResources(resources, has.containers.get(name)));

/** The pod with what it has in the place of what it asks for: what runs, counts and is limited on the node. */
export function withAllocation(pod: Pod, has: PodAllocation): Pod {
  if (!differsFrom(pod, has)) return pod;
  const allocated = <C extends Container>(container: C): C => {
    const resources = has.containers.get(container.name);
    return resources === undefined || sameResources(container.resources, resources)
      ? container
      : { ...container, resources };
  };
  const { resources: _asked, ...spec } = pod.spec;
  return {
    ...pod,
    spec: {
      ...spec,
      ...(has.pod === undefined ? {} : { resources: has.pod }),
      containers: pod.spec.containers.map(allocated),
      ...(pod.spec.initContainers ? { initContainers: pod.spec.initContainers.map(allocated) } : {}),
    },
  };
}

/** Whether the node has to set aside more than it has. */
export function asksForMore(pod: Pod, has: PodAllocation): boolean {
  const [wanted, there] = [podDemand(pod), podDemand(withAllocation(pod, has))];
  return wanted.milliCpu > there.milliCpu || wanted.memoryBytes > there.memoryBytes;
}
