// What a pod asks for: its effective requests and limits, as upstream's resource helpers add them up. The one home of
// this sum: the API server, the scheduler, the quotas and the nodes must not have truths of their own.
import type { Quantity } from '../../../apimachinery/quantity.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  tryParseQuantity,
} from '../../../apimachinery/quantity.ts';
import type { Container, Pod, ResourceRequirements } from '../../generated/types/core-v1.ts';

/** Exact amounts by resource name. */
export type ResourceAmounts = Map<string, Quantity>;
type List = 'requests' | 'limits';

export const isHugePages = (name: string): boolean => name.startsWith('hugepages-');
/** What may be asked for by a pod as a whole. */
export const isPodLevelResource = (name: string): boolean =>
  name === 'cpu' || name === 'memory' || isHugePages(name);

/** Whether the pod has a say of its own beside its containers' (upstream: IsPodLevelResourcesSet). */
export const hasPodLevelResources = ({ spec }: Pod): boolean =>
  Object.keys({ ...spec.resources?.requests, ...spec.resources?.limits }).some(isPodLevelResource);

export interface PodResourceOptions {
  /** Leaves out spec.overhead. */
  readonly excludeOverhead?: boolean;
  /** Leaves out spec.resources: what the containers need together. */
  readonly excludePodLevel?: boolean;
  /** Of a pod that is being resized, what its node holds for it counts as well: the larger of both (upstream: UseStatusResources). */
  readonly heldByNode?: boolean;
}

function amountsOf(resources: ResourceRequirements | undefined, list: List): ResourceAmounts {
  const found: ResourceAmounts = new Map();
  for (const [name, value] of Object.entries(resources?.[list] ?? {})) {
    // What is no quantity is refused elsewhere; defaults are worked out before that.
    const quantity = tryParseQuantity(value);
    if (quantity) found.set(name, quantity);
  }
  return found;
}
function addAmounts(into: ResourceAmounts, more: ResourceAmounts): void {
  for (const [name, value] of more) {
    const old = into.get(name);
    into.set(name, old ? addQuantities(old, value) : value);
  }
}
function maxAmounts(into: ResourceAmounts, other: ResourceAmounts): void {
  for (const [name, value] of other) {
    const old = into.get(name);
    if (!old || compareQuantities(value, old) > 0) into.set(name, value);
  }
}

/** By container: what its node has set aside for it, and what it has. */
function heldAmounts(pod: Pod): ReadonlyMap<string, ResourceAmounts> {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  return new Map(
    [...initContainerStatuses, ...containerStatuses].map(({ name, resources, allocatedResources }) => {
      const held = amountsOf(resources, 'requests');
      maxAmounts(held, amountsOf({ requests: allocatedResources }, 'requests'));
      return [name, held];
    }),
  );
}

/** Its node will never give it what it asks for: that counts for nothing. */
const isInfeasible = ({ status }: Pod): boolean =>
  status?.conditions?.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Infeasible') ===
  true;

/** What a container asks for beside what its node holds for it. */
function requestsBeside(pod: Pod): (container: Container, asked: ResourceAmounts) => ResourceAmounts {
  const held = heldAmounts(pod);
  const infeasible = isInfeasible(pod);
  return ({ name }, asked) => {
    const there = held.get(name);
    if (there === undefined || there.size === 0) return asked;
    if (!infeasible) maxAmounts(there, asked);
    return there;
  };
}

/**
 * Containers are summed with the sidecars; an init container needs itself and the sidecars started before it;
 * the larger of the two counts. Pod-level resources and overhead come on top.
 */
function aggregate(pod: Pod, list: List, options: PodResourceOptions): ResourceAmounts {
  const beside = options.heldByNode && list === 'requests' ? requestsBeside(pod) : undefined;
  const of = (c: Container): ResourceAmounts => {
    const asked = amountsOf(c.resources, list);
    return beside ? beside(c, asked) : asked;
  };
  const total: ResourceAmounts = new Map();
  for (const container of pod.spec.containers ?? []) addAmounts(total, of(container));
  const sidecars: ResourceAmounts = new Map();
  const initPeak: ResourceAmounts = new Map();
  for (const container of pod.spec.initContainers ?? []) {
    const own = of(container);
    if (container.restartPolicy === 'Always') {
      addAmounts(total, own);
      addAmounts(sidecars, own);
      maxAmounts(initPeak, sidecars);
    } else {
      addAmounts(own, sidecars);
      maxAmounts(initPeak, own);
    }
  }
  maxAmounts(total, initPeak);
  // Pod-level resources replace the sum for the names they give.
  if (!options.excludePodLevel)
    for (const [name, value] of amountsOf(pod.spec.resources, list))
      if (isPodLevelResource(name)) total.set(name, value);
  if (!options.excludeOverhead)
    for (const [name, value] of Object.entries(pod.spec.overhead ?? {})) {
      const old = total.get(name);
      // Overhead raises only limits that exist.
      if (list === 'requests' || old)
        total.set(name, old ? addQuantities(old, parseQuantity(value)) : parseQuantity(value));
    }
  return total;
}

export const podRequestAmounts = (pod: Pod, options: PodResourceOptions = {}): ResourceAmounts =>
  aggregate(pod, 'requests', options);
export const podLimitAmounts = (pod: Pod, options: PodResourceOptions = {}): ResourceAmounts =>
  aggregate(pod, 'limits', options);

/** Amounts as a ResourceList of canonical texts. */
const resourceListOf = (amounts: ResourceAmounts): Record<string, string> =>
  Object.fromEntries([...amounts].map(([name, value]) => [name, formatQuantity(value)]));
export const podRequests = (pod: Pod, options: PodResourceOptions = {}): Record<string, string> =>
  resourceListOf(podRequestAmounts(pod, options));
export const podLimits = (pod: Pod, options: PodResourceOptions = {}): Record<string, string> =>
  resourceListOf(podLimitAmounts(pod, options));
