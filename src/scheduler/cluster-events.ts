// What changes of nodes and pods mean for the scheduler: for its picture of the cluster, and for the pods that wait.
import { namespaces, nodes, pods } from '../api/generated/resources.ts';
import type { Namespace, Node, Pod } from '../api/generated/types/core-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import type { InformerFactory, InformerHandler } from '../client/cache/informer.ts';
import type { SchedulerCache } from './cache.ts';
import type { Nominator } from './framework/nominator.ts';
import type { ClusterEvent, PodUpdate } from './framework/plugin.ts';
import { requestOf } from './framework/resources.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';
import type { RefusalWriter } from './refusal-writer.ts';

/** Of the profile that there always is, unless a configuration says otherwise. */
export const schedulerName = 'default-scheduler';
export const schedulerOf = ({ spec }: Pod): string => spec.schedulerName ?? schedulerName;

export interface ToldOfChanges {
  readonly isOurs: (pod: Pod) => boolean;
  readonly cache: SchedulerCache;
  readonly nominator: Nominator;
  readonly queue: SchedulingQueue;
  readonly refusals: RefusalWriter;
}

const isTerminal = (pod: Pod): boolean => pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
const hasNode = (pod: Pod): boolean => (pod.spec.nodeName ?? '') !== '';

/** The events that a change of a node is. */
function nodeEvents(old: Node, node: Node): Set<ClusterEvent> {
  const differs = (a: unknown, b: unknown): boolean => JSON.stringify(a) !== JSON.stringify(b);
  const out = new Set<ClusterEvent>();
  if (differs(old.status?.allocatable, node.status?.allocatable)) out.add('NodeUpdateNodeAllocatable');
  if (differs(old.metadata.labels, node.metadata.labels)) out.add('NodeUpdateNodeLabel');
  // As upstream: unschedulable is a taint by another name.
  if (differs(old.spec.taints, node.spec.taints)) out.add('NodeUpdateNodeTaint');
  if (differs(old.spec.unschedulable, node.spec.unschedulable)) out.add('NodeUpdateNodeTaint');
  return out;
}

const schedulingMatters = (old: Pod, pod: Pod): boolean =>
  !semanticEqual(old.metadata.labels, pod.metadata.labels) || !semanticEqual(old.spec, pod.spec);

/** What of a pod has changed, the first that is true; upstream may tell of several. */
function podUpdate(old: Pod, pod: Pod): PodUpdate {
  const [gates, was] = [pod, old].map(({ spec }) => spec.schedulingGates?.length ?? 0);
  if (!semanticEqual(old.metadata.labels, pod.metadata.labels)) return 'UnschedulablePodUpdatePodLabel';
  if (gates === 0 && was !== 0) return 'UnschedulablePodUpdatePodSchedulingGatesEliminated';
  // Tolerations can only be added.
  if (old.spec.tolerations?.length !== pod.spec.tolerations?.length)
    return 'UnschedulablePodUpdatePodToleration';
  if (asksForLess(old, pod)) return 'UnschedulablePodUpdatePodScaleDown';
  return 'UnschedulablePodUpdate';
}

const nodeHandler = ({ cache, queue }: ToldOfChanges): InformerHandler<Node> => ({
  added(node) {
    cache.setNode(node);
    queue.moveAllOn('NodeAdd', { node });
  },
  updated(old, node) {
    cache.setNode(node);
    for (const event of nodeEvents(old, node)) queue.moveAllOn(event, { oldNode: old, node });
  },
  deleted(node) {
    cache.removeNode(node.metadata.name);
    queue.moveAllOn('NodeDelete', { oldNode: node });
  },
});

/** What of a pod on a node has changed that others wait for. */
function assignedPodEvents(old: Pod, pod: Pod): ClusterEvent[] {
  const out: ClusterEvent[] = [];
  if (!semanticEqual(old.metadata.labels, pod.metadata.labels)) out.push('AssignedPodUpdatePodLabel');
  if (old.spec !== pod.spec && asksForLess(old, pod)) out.push('AssignedPodUpdatePodScaleDown');
  return out;
}

function asksForLess(old: Pod, pod: Pod): boolean {
  if (semanticEqual(old.spec, pod.spec) && semanticEqual(resourcesIn(old), resourcesIn(pod))) return false;
  const [before, now] = [requestOf(old), requestOf(pod)];
  return (
    now.milliCpu < before.milliCpu ||
    now.memory < before.memory ||
    now.ephemeralStorage < before.ephemeralStorage ||
    before.scalars.entries().some(([name, amount]) => (now.scalars.get(name) ?? 0) < amount)
  );
}

const resourcesIn = (pod: Pod): unknown =>
  (pod.status?.containerStatuses ?? []).map(({ allocatedResources, resources }) => [
    allocatedResources,
    resources,
  ]);

function podHandler({ cache, isOurs, nominator, queue, refusals }: ToldOfChanges): InformerHandler<Pod> {
  const release = (pod: Pod): void => {
    queue.remove(pod);
    void refusals.forget(pod);
    const wasPromised = nominator.forget(pod);
    const wasPlaced = cache.isPlaced(pod);
    if (wasPlaced) cache.removePod(pod);
    // Others may have made way for one that never came.
    if (wasPlaced || wasPromised) queue.moveAllOn('AssignedPodDelete', { oldPod: pod });
  };
  const place = (pod: Pod): void => {
    nominator.forget(pod);
    cache.addPod(pod);
  };
  return {
    added(pod) {
      if (isTerminal(pod)) return;
      if (hasNode(pod)) {
        place(pod);
        queue.moveAllOn('AssignedPodAdd', { pod });
      } else if (isOurs(pod)) {
        nominator.saw(pod);
        queue.add(pod);
      }
    },
    updated(old, pod) {
      if (isTerminal(pod)) release(pod);
      else if (hasNode(pod)) {
        if (!hasNode(old)) queue.remove(old);
        place(pod);
        if (!hasNode(old)) queue.moveAllOn('AssignedPodAdd', { pod });
        else for (const event of assignedPodEvents(old, pod)) queue.moveAllOn(event, { oldPod: old, pod });
      } else if (isOurs(pod) && !cache.isPlaced(pod)) {
        const isFree = nominator.updated(old, pod);
        if (!semanticEqual(old.status?.resourceClaimStatuses, pod.status?.resourceClaimStatuses))
          queue.update(pod, 'UnschedulablePodUpdatePodGeneratedResourceClaim', old);
        else if (schedulingMatters(old, pod)) queue.update(pod, podUpdate(old, pod), old);
        else queue.refresh(pod);
        if (isFree) queue.moveAllOn('AssignedPodDelete', { oldPod: old });
      }
    },
    deleted: release,
  };
}

/** Terms of affinity name namespaces by their labels. */
const namespaceHandler = ({ queue }: ToldOfChanges): InformerHandler<Namespace> => ({
  added: () => queue.moveAllOn('NamespaceAdd'),
  updated(old, namespace) {
    if (!semanticEqual(old.metadata.labels, namespace.metadata.labels)) queue.moveAllOn('NamespaceUpdate');
  },
});

/** The result ends it. */
export function watchCluster(informers: InformerFactory, told: ToldOfChanges): () => void {
  const removes = [
    informers.informer(namespaces).addHandler(namespaceHandler(told)),
    informers.informer(nodes).addHandler(nodeHandler(told)),
    informers.informer(pods).addHandler(podHandler(told)),
  ];
  return () => {
    for (const remove of removes) remove();
  };
}
