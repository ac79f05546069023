// A node with what its pods take of it: the scheduler's unit of thought. Numbers are milli-CPU and bytes.
import type { Node, Pod } from '../../api/generated/types/core-v1.ts';
import { type HostPort, hostPortsOf, UsedHostPorts } from '../../component-helpers/host-ports.ts';
import {
  addResources,
  emptyResources,
  nonZeroRequestOf,
  type Resources,
  requestOf,
  resourcesFrom,
  subtractResources,
} from './resources.ts';

export interface PodInfo {
  readonly pod: Pod;
  readonly request: Resources;
  readonly nonZero: { readonly milliCpu: number; readonly memory: number };
  readonly ports: readonly HostPort[];
  /** `namespace/name` of the claims that its volumes name. */
  readonly claims: readonly string[];
  readonly hasAffinity: boolean;
  readonly hasRequiredAntiAffinity: boolean;
}

const noClaims: readonly string[] = [];

/** Claims that are made for the pod alone are of no concern to others. */
function namedClaims({ metadata, spec }: Pod): readonly string[] {
  if (spec.volumes === undefined) return noClaims;
  const names = spec.volumes.flatMap(({ persistentVolumeClaim: claim }) =>
    claim === undefined ? [] : [`${metadata.namespace ?? ''}/${claim.claimName}`],
  );
  return names.length === 0 ? noClaims : names;
}

export function podInfoOf(pod: Pod): PodInfo {
  const request = requestOf(pod);
  const affinity = pod.spec.affinity;
  return {
    pod,
    request,
    nonZero: nonZeroRequestOf(pod),
    ports: hostPortsOf(pod),
    claims: namedClaims(pod),
    hasAffinity: affinity?.podAffinity !== undefined || affinity?.podAntiAffinity !== undefined,
    hasRequiredAntiAffinity:
      (affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0,
  };
}

export class NodeInfo {
  readonly name: string;
  node: Node;
  allocatable: Resources;
  readonly requested: Resources = emptyResources();
  readonly nonZeroRequested: { milliCpu: number; memory: number } = { milliCpu: 0, memory: 0 };
  readonly usedPorts: UsedHostPorts = new UsedHostPorts();
  /** By uid. */
  readonly pods: Map<string, PodInfo> = new Map();
  /** How many pods use a claim, by its key. */
  readonly usedClaims: Map<string, number> = new Map();
  #lowestPriority: number | undefined;
  podsWithAffinity = 0;
  podsWithRequiredAntiAffinity = 0;
  /** Image name to size in bytes. */
  images: ReadonlyMap<string, number> = new Map();

  constructor(node: Node, known?: Pick<NodeInfo, 'allocatable' | 'images'>) {
    this.name = node.metadata.name;
    this.node = node;
    this.allocatable = known ? known.allocatable : emptyResources();
    if (known) this.images = known.images;
    else this.setNode(node);
  }

  setNode(node: Node): void {
    this.node = node;
    this.allocatable = resourcesFrom(node.status?.allocatable ?? {});
    this.images = new Map(
      (node.status?.images ?? []).flatMap((image) =>
        (image.names ?? []).map((name) => [name, Number(image.sizeBytes ?? 0)] as const),
      ),
    );
  }

  addPod(info: PodInfo): void {
    const uid = info.pod.metadata.uid ?? '';
    if (this.pods.has(uid)) this.removePod(uid);
    this.pods.set(uid, info);
    this.#lowestPriority = undefined;
    addResources(this.requested, info.request);
    this.nonZeroRequested.milliCpu += info.nonZero.milliCpu;
    this.nonZeroRequested.memory += info.nonZero.memory;
    this.usedPorts.add(info.ports);
    for (const claim of info.claims) this.usedClaims.set(claim, (this.usedClaims.get(claim) ?? 0) + 1);
    if (info.hasAffinity) this.podsWithAffinity++;
    if (info.hasRequiredAntiAffinity) this.podsWithRequiredAntiAffinity++;
  }

  removePod(uid: string): void {
    const info = this.pods.get(uid);
    if (!info) return;
    this.pods.delete(uid);
    this.#lowestPriority = undefined;
    subtractResources(this.requested, info.request);
    this.nonZeroRequested.milliCpu -= info.nonZero.milliCpu;
    this.nonZeroRequested.memory -= info.nonZero.memory;
    this.usedPorts.remove(info.ports);
    for (const claim of info.claims) {
      const left = (this.usedClaims.get(claim) ?? 0) - 1;
      if (left > 0) this.usedClaims.set(claim, left);
      else this.usedClaims.delete(claim);
    }
    if (info.hasAffinity) this.podsWithAffinity--;
    if (info.hasRequiredAntiAffinity) this.podsWithRequiredAntiAffinity--;
  }

  /** Of the pods on it; of none it is as high as can be. */
  get lowestPriority(): number {
    if (this.#lowestPriority === undefined) {
      let lowest = Number.POSITIVE_INFINITY;
      for (const { pod } of this.pods.values()) lowest = Math.min(lowest, pod.spec.priority ?? 0);
      this.#lowestPriority = lowest;
    }
    return this.#lowestPriority;
  }

  /** A copy that a what-if (preemption) may change. */
  clone(): NodeInfo {
    const copy = new NodeInfo(this.node, this);
    for (const info of this.pods.values()) copy.addPod(info);
    return copy;
  }
}
