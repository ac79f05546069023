// Which nodes a DaemonSet's pods belong on, and the pod that is pinned to one.
import type { DaemonSet } from '../../api/generated/types/apps-v1.ts';
import type {
  Node,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Toleration,
} from '../../api/generated/types/core-v1.ts';
import { matchesRequiredNodeAffinity } from '../../component-helpers/node-affinity.ts';
import { isOfSystem, podSystem } from '../../component-helpers/pod-system.ts';
import { findUntoleratedTaint } from '../../component-helpers/taints.ts';

const automatic: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const hostNetworkToleration: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
};

const same = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key &&
  a.effect === b.effect &&
  a.operator === b.operator &&
  (a.value ?? '') === (b.value ?? '');

/** Daemons stay on nodes in trouble: that is where they are needed. */
function withDaemonTolerations(spec: PodSpec): Toleration[] {
  const result = [...(spec.tolerations ?? [])];
  const wanted = spec.hostNetwork === true ? [...automatic, hostNetworkToleration] : automatic;
  for (const toleration of wanted) {
    const at = result.findIndex((existing) => same(existing, toleration));
    if (at < 0) result.push(toleration);
    else result[at] = toleration;
  }
  return result;
}

const pinTo = (nodeName: string): NodeSelectorTerm => ({
  matchFields: [{ key: 'metadata.name', operator: 'In', values: [nodeName] }],
});

/** The template's spec for one node: the scheduler binds it there or nowhere. */
export function podSpecFor(spec: PodSpec, nodeName: string): PodSpec {
  const terms =
    spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const { matchFields } = pinTo(nodeName);
  const pinned = terms.length === 0 ? [pinTo(nodeName)] : terms.map((term) => ({ ...term, matchFields }));
  return {
    ...spec,
    affinity: {
      ...spec.affinity,
      nodeAffinity: {
        ...spec.affinity?.nodeAffinity,
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: pinned },
      },
    },
    tolerations: withDaemonTolerations(spec),
  };
}

export interface NodeFit {
  readonly shouldRun: boolean;
  /** A pod that is there may stay, though a new one would not come. */
  readonly shouldContinueRunning: boolean;
}

/** The system that the pods are for, as the scheduler decides it. */
export function daemonSystem(ds: DaemonSet, nodes: readonly Node[]): string | undefined {
  const views = nodes.map((node) => ({
    labels: node.metadata.labels,
    hasImage: (name: string) => (node.status?.images ?? []).some((image) => image.names?.includes(name)),
  }));
  return podSystem(ds.spec.template.spec ?? { containers: [] }, views);
}

export function nodeFit(ds: DaemonSet, node: Node, system?: string): NodeFit {
  const template: PodTemplateSpec = ds.spec.template;
  const spec = template.spec ?? { containers: [] };
  const no: NodeFit = { shouldRun: false, shouldContinueRunning: false };
  if (spec.nodeName !== undefined && spec.nodeName !== '' && spec.nodeName !== node.metadata.name) return no;
  const pod = { metadata: {}, spec } as unknown as Pod;
  if (!matchesRequiredNodeAffinity(pod, node)) return no;
  // Images come and go: a pod that is there stays.
  if (!isOfSystem(node.metadata.labels, system)) return { shouldRun: false, shouldContinueRunning: true };
  const tolerations = withDaemonTolerations(spec);
  const taints = node.spec?.taints;
  if (findUntoleratedTaint(taints, tolerations) !== undefined)
    return {
      shouldRun: false,
      shouldContinueRunning:
        findUntoleratedTaint(taints, tolerations, (taint) => taint.effect === 'NoExecute') === undefined,
    };
  return { shouldRun: true, shouldContinueRunning: true };
}

/** The node that a pod is on, or pinned to while it waits for the scheduler. */
export function targetNode(pod: Pod): string | undefined {
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== '') return pod.spec.nodeName;
  const terms =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  for (const { matchFields } of terms)
    for (const { key, operator, values } of matchFields ?? [])
      if (key === 'metadata.name' && operator === 'In' && values?.length === 1) return values[0];
  return undefined;
}
