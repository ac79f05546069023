// What changes of nodes and pods mean for the scheduler: for its picture of the cluster, and for the pods that wait.
import { namespaces, nodes, pods } from '../api/generated/resources.ts';
import type { Namespace, Node, Pod } from '../api/generated/types/core-v1.ts';
import { semanticEqual } from '../apimachinery/equality.ts';
import type { InformerFactory, InformerHandler } from '../client/cache/informer.ts';
import type { SchedulerCache } from './cache.ts';
import type { ClusterEvent, PodUpdate } from './framework/plugin.ts';
import type { SchedulingQueue } from './queue/scheduling-queue.ts';
import type { RefusalWriter } from './refusal-writer.ts';

export const schedulerName = 'default-scheduler';

export interface ToldOfChanges {
  readonly cache: SchedulerCache;
  readonly queue: SchedulingQueue;
  readonly refusals: RefusalWriter;
}

const isOurs = (pod: Pod): boolean => (pod.spec.schedulerName ?? schedulerName) === schedulerName;
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
  return 'UnschedulablePodUpdate';
}

const nodeHandler = ({ cache, queue }: ToldOfChanges): InformerHandler<Node> => ({
  added(node) {
    cache.setNode(node);
    queue.moveAllOn('NodeAdd');
  },
  updated(old, node) {
    cache.setNode(node);
    for (const event of nodeEvents(old, node)) queue.moveAllOn(event);
  },
  deleted: (node) => cache.removeNode(node.metadata.name),
});

function podHandler({ cache, queue, refusals }: ToldOfChanges): InformerHandler<Pod> {
  const release = (pod: Pod): void => {
    queue.remove(pod);
    void refusals.forget(pod);
    if (!cache.isPlaced(pod)) return;
    cache.removePod(pod);
    queue.moveAllOn('AssignedPodDelete');
  };
  return {
    added(pod) {
      if (isTerminal(pod)) return;
      if (hasNode(pod)) {
        cache.addPod(pod);
        queue.moveAllOn('AssignedPodAdd');
      } else if (isOurs(pod)) queue.add(pod);
    },
    updated(old, pod) {
      if (isTerminal(pod)) release(pod);
      else if (hasNode(pod)) {
        if (!hasNode(old)) queue.remove(old);
        cache.addPod(pod);
        if (!hasNode(old)) queue.moveAllOn('AssignedPodAdd');
      } else if (isOurs(pod) && !cache.isPlaced(pod)) {
        if (schedulingMatters(old, pod)) queue.update(pod, podUpdate(old, pod));
        else queue.refresh(pod);
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
